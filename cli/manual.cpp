// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost manual`: the manual page, made from the table of verbs and options.
#include <cstdio>

#include <fmt/format.h>

#include "cli/verb.h"

namespace fencepost::cli {

namespace {

// A line of running text: roff takes some characters at its start, and every backslash, for its
// own.
std::string roff(const std::string &text)
{
    std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (const char c : text)
        result += c == '\\'  ? std::string("\\e")
                  : c == '-' ? std::string("\\-")
                             : std::string(1, c);
    return result;
}

std::string usage_of(const VerbText &verb, const std::string &words)
{
    std::string text = words;
    bool has_options = false;
    for (const OptionText &option : verb.options)
        has_options |= !option.by_place;
    if (has_options)
        text += " [OPTION...]";
    for (const OptionText &option : verb.options)
        if (option.by_place)
            text += option.required ? " " + option.names[0] : " [" + option.names[0] + "]";
    return text + (verb.verbs.empty() ? "" : " VERB");
}

void add_options(const VerbText &verb, std::string &page)
{
    for (const OptionText &option : verb.options) {
        std::string head = fmt::format("{}", fmt::join(option.names, ", "));
        if (!option.value.empty() && !option.by_place)
            head += " " + option.value;
        std::string text = option.description;
        if (!option.choices.empty())
            text += fmt::format(" (one of: {})", fmt::join(option.choices, ", "));
        if (!option.default_value.empty())
            text += fmt::format(" [{}]", option.default_value);
        page += fmt::format(".TP\n.B {}\n{}\n", roff(head), roff(text));
    }
}

void add_verb(const VerbText &verb, const std::string &words, std::string &page)
{
    page += fmt::format(".SS {}\n{}.\n", roff(usage_of(verb, words)), roff(verb.description));
    add_options(verb, page);
    if (!verb.paragraphs.empty())
        page += ".PP\n.nf\n";
    for (const std::string &line : verb.paragraphs)
        page += roff(line) + "\n";
    if (!verb.paragraphs.empty())
        page += ".fi\n";
    for (const Example &example : verb.examples)
        page += fmt::format(".PP\n.EX\nfencepost {}\n.EE\n{}\n", roff(example.command),
                            roff(example.what));
    for (const VerbText &below : verb.verbs)
        add_verb(below, words + " " + below.name, page);
}

std::string manual_page(const VerbText &program)
{
    std::string page = ".TH FENCEPOST 1\n.SH NAME\nfencepost \\- find crash\\-consistency bugs in "
                       "persistent memory software\n.SH SYNOPSIS\n";
    page += roff(usage_of(program, program.name)) + "\n.SH DESCRIPTION\n" +
            roff(program.description) + "\n.SH OPTIONS\n";
    add_options(program, page);
    page += ".SH VERBS\n";
    for (const VerbText &verb : program.verbs)
        add_verb(verb, program.name + " " + verb.name, page);
    page +=
        ".SH EXIT STATUS\n.TP\n.B 0\nnothing found\n.TP\n.B 1\nbugs found\n.TP\n.B 2\nusage, or a "
        "spec that is wrong\n.TP\n.B 3\na trace that is damaged or of another version\n.TP\n"
        ".B 4\ntrouble with the guest or the machine\n.TP\n.B 5\nnothing of the workload reached "
        "PM\n.TP\n.B 70\na bug of fencepost\n";
    return page;
}

} // namespace

void add_manual(App &app, Context &)
{
    App *verb = app.add_subcommand("manual", "Prints the manual page");
    verb->footer("`ninja install` installs it.");
    verb->examples({{"manual | man -l -", "reads it"}});
    verb->callback([&app] { std::fputs(manual_page(app.text()).c_str(), stdout); });
}

} // namespace fencepost::cli
