// SPDX-License-Identifier: GPL-2.0-or-later
// The text of a shell script, character by character, with the line that each is in.
#pragma once

#include <cctype>
#include <string>

#include "base/error.h"
#include "replayer/run/spec.h"

namespace fencepost::run {

class ShellText {
protected:
    explicit ShellText(const SourceText &source)
        : source_(source), text_(source.text), line_(source.first_line)
    {
    }

    bool more() const { return at_ < text_.size(); }
    char peek(std::size_t ahead = 0) const
    {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    char next()
    {
        const char c = text_[at_++];
        line_ += c == '\n';
        return c;
    }

    [[noreturn]] void unfinished(const char *what, unsigned line) const
    {
        fail(ErrorKind::usage, "{}:{}: {} has no end", source_.name, line, what);
    }

    void skip_comment()
    {
        while (more() && peek() != '\n')
            next();
    }

    void skip_space()
    {
        while (more()) {
            if (peek() == '#')
                skip_comment();
            else if (std::isspace(static_cast<unsigned char>(peek())))
                next();
            else if (peek() == '\\' && peek(1) == '\n')
                next(), next();
            else
                return;
        }
    }

    const SourceText &source_;
    const std::string &text_;
    std::size_t at_ = 0;
    unsigned line_;
};

} // namespace fencepost::run
