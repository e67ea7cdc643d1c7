// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost completion`: what a shell completes, made from the table of verbs and options.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/verb.h"

namespace fencepost::cli {

namespace {

// A verb with the words that name it: "image build".
struct Named {
    std::string words;
    const VerbText *verb;
};

void collect(const VerbText &verb, const std::string &words, std::vector<Named> &found)
{
    found.push_back({words, &verb});
    for (const VerbText &each : verb.verbs)
        collect(each, words.empty() ? each.name : words + " " + each.name, found);
}

std::vector<Named> all_verbs(const VerbText &program)
{
    std::vector<Named> found;
    collect(program, "", found);
    return found;
}

std::vector<std::string> names_of(const VerbText &verb, bool by_place = false)
{
    std::vector<std::string> names;
    for (const OptionText &option : verb.options)
        if (option.by_place == by_place)
            names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

// For a word in single quotes.
std::string quoted(const std::string &text)
{
    std::string result;
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return "'" + result + "'";
}

// Words that name a verb which others stand below, as alternatives of a `case`.
std::string families(const VerbText &program)
{
    std::string names;
    for (const VerbText &verb : program.verbs)
        if (!verb.verbs.empty())
            names += (names.empty() ? "" : "|") + verb.name;
    return names.empty() ? "-" : names;
}

// Sets `verb` to the words that name the verb, from the words of the line before the last.
constexpr char kBashVerb[] = R"(    local verb='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
        -*) ;;
        *)
            verb+=${{verb:+ }}${{COMP_WORDS[i]}}
            case $verb in
            {}) ;;
            *) break ;;
            esac
            ;;
        esac
    done
)";

std::string bash(const VerbText &program)
{
    std::string text = "# Completion of fencepost for bash: made by `fencepost completion bash`.\n"
                       "_fencepost() {\n"
                       "    local word=${COMP_WORDS[COMP_CWORD]} "
                       "previous=${COMP_WORDS[COMP_CWORD - 1]}\n";
    text += fmt::format(kBashVerb, families(program));
    text += "    local words='' values=''\n    case $verb in\n";
    const std::string global = fmt::format("{}", fmt::join(names_of(program), " "));
    for (const auto &[words, verb] : all_verbs(program)) {
        std::vector<std::string> offered = names_of(*verb);
        for (const VerbText &below : verb->verbs)
            offered.push_back(below.name);
        text += fmt::format("    {})\n        words='{} {}'\n        case $previous in\n",
                            quoted(words), fmt::join(offered, " "), verb == &program ? "" : global);
        for (const OptionText &option : verb->options)
            if (!option.by_place && !option.value.empty())
                text += fmt::format(
                    "        {}) values='{}' words='' ;;\n", fmt::join(option.names, "|"),
                    option.choices.empty() ? "-"
                                           : fmt::format("{}", fmt::join(option.choices, " ")));
        text += "        esac\n        ;;\n";
    }
    text +=
        "    esac\n"
        "    if [[ $values == - || (-z $values && $word != -* && $words != *' '[a-z]*) ]]; then\n"
        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "        compopt -o filenames 2>/dev/null\n"
        "    else\n"
        "        COMPREPLY=($(compgen -W \"$words $values\" -- \"$word\"))\n"
        "    fi\n"
        "}\n"
        "complete -F _fencepost fencepost\n";
    return text;
}

// For a description in _arguments.
std::string zsh_text(std::string text)
{
    std::string result;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\')
            result += '\\';
        result += c;
    }
    return result;
}

std::string zsh_values(const OptionText &option)
{
    if (option.value.empty())
        return "";
    return option.choices.empty() ? ":value:_files"
                                  : fmt::format(":value:({})", fmt::join(option.choices, " "));
}

void add_zsh_function(const std::string &words, const VerbText &verb, const VerbText &program,
                      std::string &text)
{
    std::string name = "_fencepost";
    for (const char c : words.empty() ? "" : " " + words)
        name += c == ' ' ? '_' : c;
    text += name + "() {\n    _arguments -C";
    std::vector<const OptionText *> options;
    for (const OptionText &option : verb.options)
        options.push_back(&option);
    for (const OptionText &option : program.options)
        if (&verb != &program && option.names != std::vector<std::string>{"-h", "--help"})
            options.push_back(&option);
    for (const OptionText *option : options) {
        if (option->by_place)
            continue;
        for (const std::string &each : option->names)
            text += " \\\n        " +
                    quoted(fmt::format("*{}[{}]{}", each, zsh_text(option->description),
                                       zsh_values(*option)));
    }
    if (verb.verbs.empty()) {
        text += " \\\n        '*:file:_files'\n}\n";
        return;
    }
    text += " \\\n        '1:verb:->verb' '*::word:->word'\n    case $state in\n    verb)\n"
            "        local -a verbs=(\n";
    for (const VerbText &below : verb.verbs)
        text += "            " + quoted(below.name + ":" + below.description) + "\n";
    text += "        )\n        _describe verb verbs\n        ;;\n    word)\n"
            "        (( $+functions[" +
            name + "_$words[1]] )) && " + name + "_$words[1]\n        ;;\n    esac\n}\n";
}

std::string zsh(const VerbText &program)
{
    std::string text = "#compdef fencepost\n"
                       "# Completion of fencepost for zsh: made by `fencepost completion zsh`.\n";
    for (const auto &[words, verb] : all_verbs(program))
        add_zsh_function(words, *verb, program, text);
    return text + "if [ \"$funcstack[1]\" = _fencepost ]; then\n    _fencepost \"$@\"\nelse\n"
                  "    compdef _fencepost fencepost\nfi\n";
}

std::string fish(const VerbText &program)
{
    std::string text = "# Completion of fencepost for fish: made by `fencepost completion fish`.\n";
    for (const auto &[words, verb] : all_verbs(program)) {
        std::string where;
        if (words.empty())
            where = "";
        else
            for (std::size_t at = 0; at < words.size();) {
                const std::size_t end = std::min(words.find(' ', at), words.size());
                where += (where.empty() ? "" : "; and ") +
                         std::string("__fish_seen_subcommand_from ") + words.substr(at, end - at);
                at = end + 1;
            }
        std::vector<std::string> below;
        for (const VerbText &each : verb->verbs)
            below.push_back(each.name);
        for (const VerbText &each : verb->verbs)
            text += fmt::format(
                "complete -c fencepost -f -n {} -a {} -d {}\n",
                quoted((where.empty() ? "" : where + "; and ") +
                       fmt::format("not __fish_seen_subcommand_from {}", fmt::join(below, " "))),
                each.name, quoted(each.description));
        for (const OptionText &option : verb->options) {
            if (option.by_place)
                continue;
            std::string line = "complete -c fencepost";
            if (!where.empty())
                line += " -n " + quoted(where);
            for (const std::string &name : option.names)
                line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (!option.value.empty())
                line += " -r";
            if (!option.choices.empty())
                line += fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
            text += line + " -d " + quoted(option.description) + "\n";
        }
    }
    return text;
}

} // namespace

void add_completion(App &app, Context &)
{
    App *verb =
        app.add_subcommand("completion", "Prints what a shell needs to complete verbs and options");
    auto shell = std::make_shared<std::string>();
    verb->add_option("SHELL", *shell, "Which shell: bash, zsh or fish")
        ->required()
        ->one_of({"bash", "zsh", "fish"});
    verb->footer("`ninja install` installs all three.");
    verb->examples({{"completion bash >~/.local/share/bash-completion/completions/fencepost",
                     "for the next bash"}});
    verb->callback([shell, &app] {
        const VerbText program = app.text();
        const std::string text = *shell == "bash"  ? bash(program)
                                 : *shell == "zsh" ? zsh(program)
                                                   : fish(program);
        std::fputs(text.c_str(), stdout);
    });
}

} // namespace fencepost::cli
