/* A list of words from a comma-separated option. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

bench_list bench_list_split(const char *text)
{
    bench_list list = {.storage = strdup(text)};
    char *rest = list.storage;
    for (char *word; rest && (word = strsep(&rest, ",")) != NULL;) {
        if (!*word) continue;
        if (list.count == 64) {
            fprintf(stderr, "trine-bench: more than 64 words in \"%s\"\n", text);
            exit(2);
        }
        list.item[list.count++] = word;
    }
    return list;
}

void bench_list_free(bench_list *list)
{
    free(list->storage);
    *list = (bench_list){0};
}
