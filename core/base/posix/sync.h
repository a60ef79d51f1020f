// Waiting until a file is on its device, which POSIX systems do in their own ways.
#pragma once

namespace gz {

// Whether it worked; errno tells why not.
bool sync_to_device(int descriptor);

}  // namespace gz
