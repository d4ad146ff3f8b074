/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a fuzz target over its corpus: replay FILE|FOLDER…  The output is TAP. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

static int n;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    size_t size = 0, cap = 0, got;

    if (!f) {
        printf("not ok %d - %s cannot be read\n", ++n, path);
        exit(1);
    }
    do {
        cap += 65536;
        data = realloc(data, cap);
        if (!data)
            abort();
        got = fread(data + size, 1, cap - size, f);
        size += got;
    } while (got > 0);
    (void)fclose(f);
    /* An exact copy on the heap, so that AddressSanitizer sees a read behind the end. */
    data = realloc(data, size ? size : 1);
    (void)LLVMFuzzerTestOneInput((const unsigned char *)data, size);
    free(data);
    printf("ok %d - %s\n", ++n, path);
}

static void replay(const char *path)
{
    DIR *d = opendir(path);

    if (!d) {
        replay_file(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char sub[4096];

        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
        replay(sub);
    }
    (void)closedir(d);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("1..%d\n", n);
    return n == 0; /* an empty corpus is a mistake */
}
