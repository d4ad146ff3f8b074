/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/banned.h"

bool terminal_stops_us(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool ours = fd >= 0 && tcgetpgrp(fd) == getpgrp();

    if (fd >= 0)
        (void)close(fd);
    return ours;
}
