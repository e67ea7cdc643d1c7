// SPDX-License-Identifier: GPL-2.0-or-later
// See usage.h.
#include "cli/usage.h"

#include <algorithm>
#include <charconv>
#include <regex>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/nearest.h"

namespace fencepost::cli {

namespace {

std::string whole_number(std::string &text)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return fmt::format("is a whole number, not '{}'", text);
    text = std::to_string(number); // without the zeros in front that would make it octal
    return "";
}

// "a, b or c"
std::string listed(const std::vector<std::string> &words, const char *last)
{
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 < words.size() ? ", " : fmt::format(" {} ", last)) + words[i];
    return text;
}

std::vector<std::string> verbs_of(const CLI::App &app)
{
    std::vector<std::string> names;
    for (const CLI::App *verb : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(verb->get_name());
    return names;
}

// Of a verb, and of `fencepost` itself: they may stand behind the verb.
std::vector<std::string> options_of(const CLI::App &app)
{
    std::vector<std::string> names;
    for (const CLI::App *each = &app; each; each = each->get_parent())
        for (const CLI::Option *option : each->get_options())
            for (const std::string &name : option->get_lnames())
                names.push_back("--" + name);
    return names;
}

// The verb that the line had come to, and how it is called.
struct Place {
    const CLI::App *app;
    std::string name;
};

Place place_in(const CLI::App &app)
{
    Place place = {&app, app.get_name()};
    while (!place.app->get_subcommands().empty()) {
        place.app = place.app->get_subcommands().front();
        place.name += " " + place.app->get_name();
    }
    return place;
}

std::string no_verb(const std::string &word, const std::vector<std::string> &verbs)
{
    const std::string meant = meant_name(word, verbs);
    return fmt::format("there is no verb '{}'; {}", word,
                       meant.empty() ? "there are " + listed(verbs, "and")
                                     : fmt::format("did you mean {}?", meant));
}

// About the first word that has no meaning; empty: they all have one.
std::string about_rest(const CLI::App &app, const Place &place)
{
    const std::vector<std::string> rest = app.remaining(true);
    if (rest.empty())
        return "";
    const std::string &word = rest.front();
    if (word.size() > 1 && word.starts_with('-')) {
        const std::string option = word.substr(0, word.find('='));
        const std::string meant = meant_name(option, options_of(*place.app));
        return fmt::format("there is no option '{}'{}", option,
                           meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
    }
    if (const auto verbs = verbs_of(*place.app); !verbs.empty())
        return no_verb(word, verbs);
    return fmt::format("'{}' is one argument too many", word);
}

std::string in_plain_words(const std::string &message)
{
    static const std::pair<std::regex, const char *> kWordings[] = {
        {std::regex(R"((\S+): (is a whole number, [^]*))"), "$1 $2"},
        {std::regex(R"((\S+): Value ([^]*) not in range (\S+?)(?:\.0+)? to (\S+?)(?:\.0+)?)"),
         "$1 is $3 to $4, not '$2'"},
        {std::regex(R"(Could not convert: (\S+) = ([^]*))"), "'$2' is no value for $1"},
        {std::regex(R"((\S+): 1 required .* missing)"), "$1 needs a value"},
        {std::regex(R"((\S+): (\d+) required (.*) missing)"), "$1 needs $2 values: $3"},
        {std::regex(R"((\S+): At least (\d+) required but received \d+)"), "$1 needs $2 values"},
        {std::regex(R"((\S+): At Most 1 required but received (\d+))"), "$1 is given $2 times"},
        {std::regex(R"((\S+) excludes (\S+))"), "$1 and $2 exclude each other"},
    };
    for (const auto &[pattern, sentence] : kWordings)
        if (std::smatch match; std::regex_match(message, match, pattern))
            return match.format(sentence);
    static const std::regex kNoMember(R"((\S+): ([^]*) not in \{(.*)\})");
    if (std::smatch match; std::regex_match(message, match, kNoMember))
        return fmt::format("{} is {}, not '{}'", match.str(1),
                           listed(CLI::detail::split(match.str(3), ','), "or"), match.str(2));
    return message;
}

std::string sentence_for(const CLI::App &app, const Place &place, const CLI::ParseError &error)
{
    const bool lacks = dynamic_cast<const CLI::RequiredError *>(&error);
    if (lacks || dynamic_cast<const CLI::ExtrasError *>(&error))
        if (const std::string sentence = about_rest(app, place); !sentence.empty())
            return sentence;
    if (const auto verbs = verbs_of(*place.app); lacks && !verbs.empty())
        return fmt::format("{} needs a verb: {}", place.name, listed(verbs, "or"));
    return in_plain_words(error.what());
}

} // namespace

void require_whole_numbers(CLI::App &app)
{
    for (CLI::Option *option : app.get_options())
        if (option->get_type_name().starts_with("UINT"))
            option->check(CLI::Validator(whole_number, ""));
    for (CLI::App *verb : app.get_subcommands([](CLI::App *) { return true; }))
        require_whole_numbers(*verb);
}

std::string usage_sentence(const CLI::App &app, const CLI::ParseError &error,
                           const std::vector<std::string> &line)
{
    Place place = place_in(app);
    // A folder that is called like a verb was taken for it.
    const std::vector<std::string> rest = app.remaining(true);
    const auto first = std::find_if(line.begin(), line.end(),
                                    [](const std::string &word) { return !word.starts_with('-'); });
    if (!rest.empty() && first != line.end() && *first == rest.front())
        place = {&app, app.get_name()};
    return fmt::format("{} (see {} --help)", sentence_for(app, place, error), place.name);
}

} // namespace fencepost::cli
