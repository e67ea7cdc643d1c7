// SPDX-License-Identifier: GPL-2.0-or-later
// See script.h. This reads as much of the shell's grammar as it takes to see where a command ends;
// whether a command is right is for the shell in the guest to say.
#include "replayer/run/script.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "guest-images/agent/script_marks.h"
#include "replayer/run/shell_text.h"

namespace fencepost::run {

namespace {

constexpr std::string_view kOperators = ";&|()<>";

class Splitter : ShellText {
public:
    explicit Splitter(const SourceText &source) : ShellText(source) {}

    std::vector<ScriptCommand> split()
    {
        while (true) {
            skip_space();
            if (at_ >= text_.size())
                return std::move(commands_);
            const std::size_t start = at_;
            const unsigned line = line_;
            list(false);
            std::string_view command = std::string_view(text_).substr(start, at_ - start);
            while (!command.empty() && std::isspace(static_cast<unsigned char>(command.back())))
                command.remove_suffix(1);
            commands_.push_back({std::string(command), line});
        }
    }

private:
    struct HereDocument {
        std::string end;
        bool strip_tabs;
        unsigned line;
    };

    void single_quotes()
    {
        const unsigned line = line_;
        next();
        while (more())
            if (next() == '\'')
                return;
        unfinished("a single-quoted string", line);
    }

    void backquotes()
    {
        const unsigned line = line_;
        next();
        while (more()) {
            const char c = next();
            if (c == '\\' && more())
                next();
            else if (c == '`')
                return;
        }
        unfinished("a command in backquotes", line);
    }

    void double_quotes()
    {
        const unsigned line = line_;
        next();
        while (more()) {
            if (peek() == '"') {
                next();
                return;
            }
            if (peek() == '\\')
                next();
            if (!expansion() && more())
                next();
        }
        unfinished("a double-quoted string", line);
    }

    // $(...), $((...)), ${...} or a command in backquotes; false: none here.
    bool expansion()
    {
        if (peek() == '`') {
            backquotes();
            return true;
        }
        if (peek() != '$' || (peek(1) != '(' && peek(1) != '{'))
            return false;
        const unsigned line = line_;
        next();
        if (peek() == '{') {
            next();
            while (more() && peek() != '}')
                if (!quoted() && more())
                    next();
            if (!more())
                unfinished("${...}", line);
            next();
            return true;
        }
        if (peek(1) == '(') {
            arithmetic(line);
            return true;
        }
        next();
        list(true);
        if (!more())
            unfinished("$(...)", line);
        next();
        return true;
    }

    void arithmetic(unsigned line)
    {
        int depth = 0;
        while (more()) {
            const char c = next();
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            if (depth == 0)
                return;
        }
        unfinished("$((...))", line);
    }

    // Anything that hides the characters in it; false: none here.
    bool quoted()
    {
        if (peek() == '\'') {
            single_quotes();
        } else if (peek() == '"') {
            double_quotes();
        } else if (peek() == '\\') {
            next();
            if (more())
                next();
        } else {
            return expansion();
        }
        return true;
    }

    // A word with its quotes as they are.
    std::string word()
    {
        const std::size_t start = at_;
        while (more() && !std::isspace(static_cast<unsigned char>(peek())) &&
               kOperators.find(peek()) == std::string_view::npos)
            if (!quoted())
                next();
        return text_.substr(start, at_ - start);
    }

    void here_document(unsigned line)
    {
        const bool strip_tabs = peek() == '-';
        if (strip_tabs)
            next();
        while (peek() == ' ' || peek() == '\t')
            next();
        std::string end;
        for (const char c : word())
            if (c != '\'' && c != '"' && c != '\\')
                end += c;
        here_documents_.push_back({end, strip_tabs, line});
    }

    // At the newline of a line with here-documents: their bodies follow.
    void here_bodies()
    {
        for (const HereDocument &document : here_documents_) {
            bool found = false;
            while (more() && !found) {
                const std::size_t end = std::min(text_.find('\n', at_), text_.size());
                std::string_view body = std::string_view(text_).substr(at_, end - at_);
                while (document.strip_tabs && body.starts_with('\t'))
                    body.remove_prefix(1);
                found = body == document.end;
                while (at_ < end)
                    next();
                if (more())
                    next();
            }
            if (!found)
                unfinished(("a here-document that ends with " + document.end).c_str(),
                           document.line);
        }
        here_documents_.clear();
    }

    struct Open {
        std::string word; // if, while, until, for, {, ( or case
        unsigned line;
        bool pattern = false; // of a case: a pattern comes next
    };

    // Up to and with a newline at the top level; in a substitution, up to its ')'.
    void list(bool in_substitution);
    void operator_character(std::vector<Open> &open);
    void plain_word(std::vector<Open> &open);
    void case_pattern(std::vector<Open> &open);

    bool command_begins_ = true; // the next word may be a reserved one
    bool continues_ = false;     // an operator wants more, even from the next line
    std::vector<HereDocument> here_documents_;
    std::vector<ScriptCommand> commands_;
};

void Splitter::list(bool in_substitution)
{
    std::vector<Open> open;
    command_begins_ = true;
    continues_ = false;
    while (more()) {
        const char c = peek();
        if (c == '\n') {
            next();
            here_bodies();
            if (open.empty() && !in_substitution && !continues_)
                return;
            command_begins_ = true;
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            next();
        } else if (c == '\\' && peek(1) == '\n') {
            next();
            next();
        } else if (c == '#') {
            skip_comment();
        } else if (!open.empty() && open.back().pattern) {
            case_pattern(open);
        } else if (c == ')' && open.empty()) {
            if (in_substitution)
                break;
            fail(ErrorKind::usage, "{}:{}: ')' without '('", source_.name, line_);
        } else if (kOperators.find(c) != std::string_view::npos) {
            operator_character(open);
        } else {
            plain_word(open);
        }
    }
    if (!open.empty())
        unfinished(("'" + open.back().word + "'").c_str(), open.back().line);
    if (!here_documents_.empty() && !in_substitution)
        unfinished("a here-document", here_documents_.front().line);
    command_begins_ = false;
    continues_ = false;
}

void Splitter::plain_word(std::vector<Open> &open)
{
    const unsigned line = line_;
    const bool begins = command_begins_;
    const std::string found = word();
    command_begins_ = false;
    continues_ = false;
    if (!begins)
        return;
    if (found == "if" || found == "while" || found == "until" || found == "for" || found == "{") {
        open.push_back({found, line});
        command_begins_ = found != "for";
    } else if (found == "case") {
        open.push_back({found, line, true});
        skip_space();
        word();
        skip_space();
        if (word() != "in")
            unfinished("'case'", line);
    } else if (found == "fi" || found == "done" || found == "}" || found == "esac") {
        if (open.empty() || open.back().word == "(" ||
            (found == "esac") != (open.back().word == "case"))
            fail(ErrorKind::usage, "{}:{}: '{}' without what it ends", source_.name, line, found);
        open.pop_back();
    } else if (found == "then" || found == "else" || found == "elif" || found == "do" ||
               found == "!") {
        command_begins_ = true;
    }
}

void Splitter::case_pattern(std::vector<Open> &open)
{
    const std::size_t before = at_;
    if (word() == "esac") {
        open.pop_back();
        command_begins_ = false;
        return;
    }
    at_ = before;
    if (peek() == '(')
        next();
    while (more() && peek() != ')')
        if (!quoted())
            next();
    if (!more())
        unfinished("'case'", open.back().line);
    next();
    open.back().pattern = false;
    command_begins_ = true;
}

void Splitter::operator_character(std::vector<Open> &open)
{
    const unsigned line = line_;
    const char c = next();
    continues_ = false;
    if (c == '<' && peek() == '<') {
        next();
        here_document(line);
        return;
    }
    if (c == '<' || c == '>') {
        if (peek() == '&' || peek() == '>' || peek() == '|')
            next();
        return;
    }
    const bool began = command_begins_;
    command_begins_ = true;
    if (c == '(' && !began && peek() == ')') { // name() { ...; }
        next();
        continues_ = true;
    } else if (c == '(') {
        open.push_back({"(", line});
    } else if (c == ')') {
        if (open.back().word != "(")
            fail(ErrorKind::usage, "{}:{}: ')' without '('", source_.name, line);
        open.pop_back();
        command_begins_ = false;
    } else if (c == ';' && peek() == ';') {
        next();
        if (open.empty() || open.back().word != "case")
            fail(ErrorKind::usage, "{}:{}: ';;' outside of a case", source_.name, line);
        open.back().pattern = true;
    } else if (c == '|' || (c == '&' && peek() == '&')) {
        if (peek() == c)
            next();
        continues_ = true; // the rest may be on the next line
    }
}

} // namespace

std::vector<ScriptCommand> split_script(const SourceText &source)
{
    return Splitter(source).split();
}

std::string marked_script(const std::vector<ScriptCommand> &commands)
{
    std::string script = agent::kMarkFunctions;
    for (std::size_t i = 0; i < commands.size(); ++i)
        script +=
            fmt::format("fencepost_begin {0}\n{1}\nfencepost_end {0}\n", i + 1, commands[i].text);
    return script;
}

} // namespace fencepost::run
