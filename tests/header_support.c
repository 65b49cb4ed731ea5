#include "header_support.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static void visit_header(const char *path, header_visit visit, void *user)
{
    static char text[1 << 18];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    const size_t length = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_in_range(length, 1, sizeof text - 2);
    text[length] = 0;
    for (const char *at = text; (at = strstr(at, "TRINE_API")); at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n') line--;
        if (*line == '#') continue; /* its definition */
        const char *open = strchr(at, '('), *end = strchr(at, ';'), *begin;
        assert_true(open && end && open < end);
        for (begin = open; isalnum((unsigned char)begin[-1]) || begin[-1] == '_' || begin[-1] == '#';) begin--;
        char name[100], declaration[1000];
        snprintf(name, sizeof name, "%.*s", (int)(open - begin), begin);
        snprintf(declaration, sizeof declaration, "%.*s", (int)(end - at), at);
        visit(user, name, declaration);
    }
}

void visit_public_functions(header_visit visit, void *user)
{
    DIR *headers = opendir(TRINE_TEST_INCLUDE "/trine");
    assert_non_null(headers);
    visit_header(TRINE_TEST_INCLUDE "/tridigpu.h", visit, user);
    for (struct dirent *entry; (entry = readdir(headers));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".h")) continue;
#ifndef TRINE_TEST_DIRECT
        if (!strcmp(entry->d_name, "direct.h")) continue;
#endif
        char path[1024];
        snprintf(path, sizeof path, "%s/trine/%s", TRINE_TEST_INCLUDE, entry->d_name);
        visit_header(path, visit, user);
    }
    closedir(headers);
}
