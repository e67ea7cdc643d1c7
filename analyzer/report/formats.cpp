// SPDX-License-Identifier: GPL-2.0-or-later
// See formats.h.
#include "analyzer/report/formats.h"
#include "base/json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/text.h"
#include "base/error.h"
#include "base/terminal_text.h"

namespace fencepost::report {

namespace {

std::string text(const findings::Report &report)
{
    std::string lines;
    for (const std::string &line : text_lines(report))
        lines += terminal_text(line) + "\n";
    return lines;
}

std::string as_json(const findings::Report &report)
{
    return json_document(to_json(report));
}

std::string sarif(const findings::Report &report)
{
    return json_document(to_sarif(report));
}

struct Format {
    std::string_view name;
    std::string (*render)(const findings::Report &);
};
constexpr Format kFormats[] = {{"text", text}, {"json", as_json}, {"sarif", sarif}};

} // namespace

std::string render(std::string_view name, const findings::Report &report)
{
    const auto *const format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                            [&](const Format &each) { return each.name == name; });
    CHECK(format != std::end(kFormats), "a format that is in the table");
    return format->render(report);
}

} // namespace fencepost::report
