// SPDX-License-Identifier: GPL-2.0-or-later
// See build_request.h.
#include "guest-images/image/build_request.h"

#include "base/error.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> split_parameters(std::string_view text, const fs::path &file)
{
    std::vector<std::string> parameters;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const std::string part(text.substr(start, end - start));
        if (part.find('=') != std::string::npos)
            parameters.push_back(part);
        else if (!parameters.empty())
            parameters.back() += "," + part;
        else
            fail(ErrorKind::usage, "'{}' is not a parameter for {}: write name=value", part,
                 file.string());
        start = end + 1;
    }
    for (const std::string &parameter : parameters) {
        if (parameter.starts_with('='))
            fail(ErrorKind::usage, "'{}' is not a parameter for {}: write name=value", parameter,
                 file.string());
        // The guest's list of modules is split at white space.
        if (parameter.find_first_of(" \t\r\n") != std::string::npos)
            fail(ErrorKind::usage, "the parameter '{}' for {} has white space in it", parameter,
                 file.string());
    }
    return parameters;
}

} // namespace

ModuleRequest parse_module_request(const std::string &text)
{
    if (fs::exists(text))
        return {.file = text};
    // A path or a value may have a ':' in it: the file is the shortest beginning that exists.
    for (std::size_t colon = text.find(':'); colon != std::string::npos;
         colon = text.find(':', colon + 1)) {
        const fs::path file = text.substr(0, colon);
        if (fs::exists(file))
            return {file, split_parameters(std::string_view(text).substr(colon + 1), file)};
    }
    fail(ErrorKind::usage, "there is no module at {}", text.substr(0, text.find(':')));
}

} // namespace fencepost::images
