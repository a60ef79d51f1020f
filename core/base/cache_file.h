// Small texts that one process leaves for the next, in the user's cache folder.
#pragma once

#include <optional>
#include <string>

namespace gz {

// They lie in $XDG_CACHE_HOME/graphzero, or in ~/.cache/graphzero; on Windows in
// %LOCALAPPDATA%/graphzero. Nothing here is an error: a
// machine without such a folder, or with one that may not be used, remembers nothing.

// The text of `name`; empty if there is none, or it is longer than 64 kB.
std::optional<std::string> read_cache_file(const std::string& name);

// Replaces `name` whole. Of two processes that do so at once one wins.
void write_cache_file(const std::string& name, const std::string& text);

}  // namespace gz
