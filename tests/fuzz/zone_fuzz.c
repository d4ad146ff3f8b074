/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "base/zone.h"
#include "fuzz/fuzz.h"

/* Whatever a file says, an offset is found for every time, and it is less than eight days. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t times[] = { INT64_MIN,  -62135596800, -1,           0,
                                     1767366245, 4102444800,   253402300799, INT64_MAX };
    struct zone *z = zone_parse((str){ (const char *)data, size });

    for (size_t i = 0; z && i < sizeof(times) / sizeof(*times); i++) {
        int32_t offset = zone_offset_in(z, times[i]);

        assert(offset > -8 * 86400 && offset < 8 * 86400);
        assert(zone_offset_in(z, times[i]) == offset);
    }
    zone_free(z);
    return 0;
}
