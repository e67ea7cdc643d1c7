// SPDX-License-Identifier: GPL-2.0-or-later
// See command_line.h.
#include "cli/command_line.h"

#include <cstdio>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/usage.h"

namespace fencepost::cli {

Option *Option::required()
{
    inner_->required();
    return this;
}

Option *Option::capture_default_str()
{
    inner_->capture_default_str();
    return this;
}

Option *Option::default_str(const std::string &text)
{
    inner_->default_str(text);
    return this;
}

Option *Option::type_name(const std::string &name)
{
    inner_->type_name(name);
    return this;
}

Option *Option::expected(int values)
{
    inner_->expected(values);
    return this;
}

Option *Option::allow_extra_args(bool allowed)
{
    inner_->allow_extra_args(allowed);
    return this;
}

Option *Option::delimiter(char character)
{
    inner_->delimiter(character);
    return this;
}

Option *Option::excludes(const Option *other)
{
    inner_->excludes(other->inner_);
    return this;
}

Option *Option::one_of(const std::vector<std::string> &values)
{
    inner_->check(CLI::IsMember(values));
    choices_ = values;
    return this;
}

Option *Option::range(unsigned least, unsigned most)
{
    inner_->check(CLI::Range(least, most));
    return this;
}

Option *Option::range(double least, double most)
{
    inner_->check(CLI::Range(least, most));
    return this;
}

Option *Option::check(std::function<std::string(const std::string &)> wrong)
{
    inner_->check(std::move(wrong));
    return this;
}

Option *Option::each(std::function<void(const std::string &)> see)
{
    inner_->each(std::move(see));
    return this;
}

App::App(const std::string &description, const std::string &name)
    : own_(std::make_unique<CLI::App>(description, name)), inner_(own_.get())
{
}

App::App(CLI::App *inner) : inner_(inner)
{
    inner_->footer([this] {
        std::string text = footer_();
        if (!examples_.empty())
            text += text.empty() ? "Examples:\n" : "\n\nExamples:\n";
        for (const Example &each : examples_)
            text += "  fencepost " + each.command + "\n      " + each.what + "\n";
        return text;
    });
}

App::~App() = default;

App *App::add_subcommand(const std::string &name, const std::string &description)
{
    return &verbs_.emplace_back(inner_->add_subcommand(name, description));
}

void App::require_subcommand()
{
    inner_->require_subcommand(1);
}

Option *App::add_option(const std::string &name, std::string &value, const std::string &description)
{
    return keep(inner_->add_option(name, value, description));
}

Option *App::add_option(const std::string &name, std::vector<std::string> &values,
                        const std::string &description)
{
    return keep(inner_->add_option(name, values, description));
}

Option *App::add_option(const std::string &name, unsigned &value, const std::string &description)
{
    return keep(inner_->add_option(name, value, description));
}

Option *App::add_option(const std::string &name, std::uint64_t &value,
                        const std::string &description)
{
    return keep(inner_->add_option(name, value, description));
}

Option *App::add_option(const std::string &name, double &value, const std::string &description)
{
    return keep(inner_->add_option(name, value, description));
}

Option *App::get_option(const std::string &name)
{
    return keep(inner_->get_option(name));
}

void App::add_flag(const std::string &name, bool &value, const std::string &description)
{
    inner_->add_flag(name, value, description);
}

void App::add_flag_callback(const std::string &name, std::function<void()> given,
                            const std::string &description)
{
    inner_->add_flag_callback(name, std::move(given), description);
}

void App::add_flag_function(const std::string &name, std::function<void(std::int64_t)> given,
                            const std::string &description)
{
    inner_->add_flag_function(name, std::move(given), description);
}

void App::set_version_flag(const std::string &name, const std::string &version)
{
    inner_->set_version_flag(name, version);
}

void App::footer(std::function<std::string()> text)
{
    footer_ = std::move(text);
}

void App::footer(const std::string &text)
{
    footer_ = [text] { return text; };
}

void App::examples(std::vector<Example> examples)
{
    examples_ = std::move(examples);
}

void App::fallthrough()
{
    inner_->fallthrough();
}

void App::callback(std::function<void()> work)
{
    inner_->callback(std::move(work));
}

void App::parse_complete_callback(std::function<void()> before_verbs)
{
    inner_->parse_complete_callback(std::move(before_verbs));
}

std::optional<int> App::parse(int argc, const char *const *argv)
{
    require_whole_numbers(*inner_);
    try {
        inner_->parse(argc, argv);
    } catch (const CLI::Success &outcome) {
        return inner_->exit(outcome);
    } catch (const CLI::ParseError &error) {
        const std::string sentence =
            usage_sentence(*inner_, error, {argv + std::min(argc, 1), argv + argc});
        std::fprintf(stderr, "fencepost: %s\n", sentence.c_str());
        return 2;
    }
    return std::nullopt;
}

OptionText App::text_of(const CLI::Option &option) const
{
    OptionText text = {.value = option.get_type_size() == 0 ? "" : option.get_type_name(),
                       .description = option.get_description(),
                       .default_value = option.get_default_str(),
                       .by_place = !option.nonpositional(),
                       .required = option.get_required()};
    if (text.by_place)
        text.names = {option.get_name()};
    for (const std::string &name : option.get_snames())
        text.names.push_back("-" + name);
    for (const std::string &name : option.get_lnames())
        text.names.push_back("--" + name);
    for (const Option &kept : options_)
        if (kept.inner_ == &option && !kept.choices_.empty())
            text.choices = kept.choices_;
    return text;
}

VerbText App::text() const
{
    VerbText text = {.name = inner_->get_name(),
                     .description = inner_->get_description(),
                     .examples = examples_};
    for (const CLI::Option *option : inner_->get_options())
        text.options.push_back(text_of(*option));
    std::istringstream lines(footer_());
    for (std::string line; std::getline(lines, line);)
        text.paragraphs.push_back(line);
    for (const App &verb : verbs_)
        text.verbs.push_back(verb.text());
    return text;
}

Option *App::keep(CLI::Option *option)
{
    return &options_.emplace_back(option);
}

} // namespace fencepost::cli
