// SPDX-License-Identifier: GPL-2.0-or-later
// The command line as verbs describe it. CLI11 parses it, and these are its names; its header stays
// in the two files that need it, because it costs a compiler five seconds in each.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb_text.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace fencepost::cli {

class Option {
public:
    explicit Option(CLI::Option *inner) : inner_(inner) {}

    Option *required();
    // --help shows the value that the variable has now.
    Option *capture_default_str();
    Option *default_str(const std::string &text);
    Option *type_name(const std::string &name);
    Option *expected(int values);
    // False: one value each time the option is given.
    Option *allow_extra_args(bool allowed);
    // A value is several, cut at this character.
    Option *delimiter(char character);
    Option *excludes(const Option *other);
    Option *one_of(const std::vector<std::string> &values);
    Option *range(unsigned least, unsigned most);
    Option *range(double least, double most);
    // `wrong` returns what is wrong with a value, or nothing.
    Option *check(std::function<std::string(const std::string &)> wrong);
    Option *each(std::function<void(const std::string &)> see);

private:
    friend class App;

    CLI::Option *inner_;
    std::vector<std::string> choices_ = {};
};

// `fencepost`, or a verb of it. What options write to must outlive parse().
class App {
public:
    App(const std::string &description, const std::string &name);
    explicit App(CLI::App *inner);
    ~App();

    App(const App &) = delete;
    App &operator=(const App &) = delete;

    App *add_subcommand(const std::string &name, const std::string &description);
    void require_subcommand();
    Option *add_option(const std::string &name, std::string &value, const std::string &description);
    Option *add_option(const std::string &name, std::vector<std::string> &values,
                       const std::string &description);
    Option *add_option(const std::string &name, unsigned &value, const std::string &description);
    Option *add_option(const std::string &name, std::uint64_t &value,
                       const std::string &description);
    Option *add_option(const std::string &name, double &value, const std::string &description);
    Option *get_option(const std::string &name);
    void add_flag(const std::string &name, bool &value, const std::string &description);
    void add_flag_callback(const std::string &name, std::function<void()> given,
                           const std::string &description);
    // `given` gets to know how often it was.
    void add_flag_function(const std::string &name, std::function<void(std::int64_t)> given,
                           const std::string &description);
    void set_version_flag(const std::string &name, const std::string &version);
    void footer(const std::string &text);
    // Made when --help asks for it: reading folders costs other verbs nothing.
    void footer(std::function<std::string()> text);
    // Below the footer.
    void examples(std::vector<Example> examples);
    // A verb's options may stand before the options of `fencepost` itself.
    void fallthrough();
    // What the verb does.
    void callback(std::function<void()> work);
    void parse_complete_callback(std::function<void()> before_verbs);

    // With all verbs below.
    VerbText text() const;

    // Runs the callback of the verb that is named. The exit status where there is none to run:
    // --help, a mistake.
    std::optional<int> parse(int argc, const char *const *argv);

private:
    Option *keep(CLI::Option *option);
    OptionText text_of(const CLI::Option &option) const;

    std::unique_ptr<CLI::App> own_; // of `fencepost`; a verb's belongs to that one
    CLI::App *inner_;
    std::function<std::string()> footer_ = [] { return std::string(); };
    std::vector<Example> examples_ = {};
    std::list<App> verbs_;
    std::list<Option> options_;
};

} // namespace fencepost::cli
