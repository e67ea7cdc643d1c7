// SPDX-License-Identifier: GPL-2.0-or-later
// A tree of files in memory, for stress.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>

struct Node {
    enum Kind { file, directory, link } kind = file;
    std::string contents = {}; // of a file, or a link's target
    std::map<std::string, std::shared_ptr<Node>> entries = {};
    unsigned names = 1;
};
using NodePointer = std::shared_ptr<Node>;

struct Place {
    NodePointer directory;
    std::string path; // of the directory
    std::string name;
    NodePointer node; // empty: nothing has the name

    std::string full() const { return path + "/" + name; }
};
