#include "core/choices.h"

#include <stdio.h>
#include <string.h>

static const char first_line[] = "trine choices 1\n";

void trine_choices_free(trine_context ctx)
{
    for (struct trine_choice *c = ctx->choices, *next; c; c = next) {
        next = c->next;
        trine_free(ctx, TRINE_HOST, c);
    }
    ctx->choices = NULL;
}

/** Under the lock. */
static struct trine_choice *find(trine_context ctx, const char *name)
{
    struct trine_choice *c = ctx->choices;
    while (c && strcmp(c->name, name) != 0) c = c->next;
    return c;
}

static bool fits(const char *text) { return *text && strlen(text) < TRINE_CHOICE_BYTES && !strpbrk(text, "\t\n\r"); }

trine_status trine_choice_set(trine_context ctx, const char *name, const char *choice)
{
    REQUIRE(fits(name) && fits(choice), "a name or a choice is empty, too long or of several lines");
    pthread_mutex_lock(&ctx->kernels_lock);
    struct trine_choice *c = find(ctx, name);
    if (!c) {
        c = trine_host_calloc(ctx, 1, sizeof *c);
        if (c) {
            snprintf(c->name, sizeof c->name, "%s", name);
            c->next = ctx->choices;
            ctx->choices = c;
        }
    }
    if (c) snprintf(c->choice, sizeof c->choice, "%s", choice);
    pthread_mutex_unlock(&ctx->kernels_lock);
    return c ? TRINE_SUCCESS : TRINE_ERR_MEMORY;
}

bool trine_choice_get(trine_context ctx, const char *name, char *choice)
{
    pthread_mutex_lock(&ctx->kernels_lock);
    const struct trine_choice *c = find(ctx, name);
    if (c) memcpy(choice, c->choice, sizeof c->choice);
    pthread_mutex_unlock(&ctx->kernels_lock);
    return c;
}

/** A line of the file, without its end; false: it has no such form. */
static bool split(char *line, char *field[3])
{
    for (int k = 0; k < 3; k++) {
        field[k] = line;
        line = strchr(line, k < 2 ? '\t' : '\n');
        if (!line) return false;
        *line++ = 0;
        if (!fits(field[k])) return false;
    }
    return !*line;
}

trine_status trine_choices_load(trine_context ctx, const char *path)
{
    trine_status status = TRINE_SUCCESS;
    char line[4 * TRINE_CHOICE_BYTES], *field[3];
    FILE *file = fopen(path, "r");
    if (!file) return trine_fail(TRINE_ERR_IO, "%s cannot be opened", path);
    if (!fgets(line, sizeof line, file) || strcmp(line, first_line) != 0)
        FAIL(TRINE_ERR_FORMAT, "%s does not begin with \"trine choices 1\"", path);
    for (int number = 2; fgets(line, sizeof line, file); number++) {
        if (!split(line, field)) FAIL(TRINE_ERR_FORMAT, "line %d of %s is not: device, name, choice", number, path);
        if (!strcmp(field[0], ctx->info.name)) TRY(trine_choice_set(ctx, field[1], field[2]));
    }
    if (ferror(file)) FAIL(TRINE_ERR_IO, "%s cannot be read", path);
done:
    fclose(file);
    return status;
}

trine_status trine_choice_save(trine_context ctx, const char *path, const char *name, const char *choice)
{
    REQUIRE(fits(ctx->info.name) && fits(name) && fits(choice),
            "a device, a name or a choice is empty, too long or of several lines");
    FILE *file = fopen(path, "a");
    if (!file) return trine_fail(TRINE_ERR_IO, "%s cannot be opened for writing", path);
    fseek(file, 0, SEEK_END);
    bool written = ftell(file) > 0 || fputs(first_line, file) >= 0;
    written = written && fprintf(file, "%s\t%s\t%s\n", ctx->info.name, name, choice) > 0;
    written = !fclose(file) && written;
    return written ? TRINE_SUCCESS : trine_fail(TRINE_ERR_IO, "%s cannot be written", path);
}
