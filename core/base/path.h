// Paths are UTF-8 on Windows, and bytes elsewhere. One implementation per system.
#pragma once

#include <optional>
#include <string>

namespace gz {

// The folder that `path` is in, "." if it names none; and the name it has there.
std::string folder_of(const std::string& path);
std::string name_of(const std::string& path);

// Where the user's programs keep what they can make again; empty if the environment names no such
// folder.
std::optional<std::string> cache_folder();

// Makes a folder and those above it. One that cannot be made is no error.
void make_folders(const std::string& path);

}  // namespace gz
