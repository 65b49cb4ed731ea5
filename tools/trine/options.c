/* Options by argp, but with errors of one line each. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const struct choice precision_choices[] = {{"s", TRINE_S}, {"d", TRINE_D}, {"c", TRINE_C}, {"z", TRINE_Z}, {NULL, 0}};

enum { KEY_USAGE = 1000 };

/** Sees the options before the subcommand's own parser, which is its child. argp's own --help is silent where its errors are. */
static error_t parse_outer(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    struct parse *input = state->input;
    if (key == '?' || key == KEY_USAGE) {
        argp_help(state->root_argp, stdout, key == '?' ? ARGP_HELP_STD_HELP : ARGP_HELP_USAGE, state->name);
        exit(EXIT_OK);
    }
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = input;
        return 0;
    }
    if (key == ARGP_KEY_ERROR && state->next >= 1 && state->next <= state->argc) input->bad = state->argv[state->next - 1];
    return ARGP_ERR_UNKNOWN;
}

int parse_options(const struct argp *argp, int argc, char **argv, struct parse *input)
{
    char name[64];
    snprintf(name, sizeof name, "trine %s", argv[0]);
    argv[0] = name; /* what --help calls the program */
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    const struct argp_option common[] = {{"help", '?', NULL, 0, "print this list", -1}, {"usage", KEY_USAGE, NULL, 0, "print a short list", 0}, {0}};
    const struct argp outer = {.options = common, .parser = parse_outer, .children = children};
    error_t error = argp_parse(&outer, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (!error) return 0;
    if (input->reported) return EXIT_USAGE;
    const char *bad = input->bad ? input->bad : "?";
    for (const struct argp_option *o = argp->options; o->name; o++)
        if (o->arg && !strncmp(bad, "--", 2) && !strcmp(bad + 2, o->name))
            return fail(EXIT_USAGE, "%s needs a value; `%s --help` explains it", bad, name);
    return fail(EXIT_USAGE, "option %s is not known; `%s --help` lists them", bad, name);
}

error_t refuse(struct argp_state *state, const char *format, ...)
{
    struct parse *input = state->input;
    if (input->reported) return EINVAL;
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    input->reported = true;
    fail(EXIT_USAGE, "%s", message);
    return EINVAL;
}

error_t choose(struct argp_state *state, const char *option, const char *arg, const struct choice *list, int *value)
{
    char names[256] = "";
    for (const struct choice *c = list; c->name; c++) {
        if (!strcmp(arg, c->name)) {
            *value = c->value;
            return 0;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", c->name);
    }
    return refuse(state, "%s \"%s\" is none of %s", option, arg, names);
}

/** A decimal number from lowest to highest. */
static bool read_integer(const char *arg, int64_t lowest, int64_t highest, int64_t *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(arg, &end, 10);
    if (end == arg || *end || errno || number < lowest || number > highest) return false;
    *value = number;
    return true;
}

error_t parse_count(struct argp_state *state, const char *option, const char *arg, int lowest, int highest, int *value)
{
    int64_t number;
    if (!read_integer(arg, lowest, highest, &number)) return refuse(state, "%s \"%s\" is not a number from %d to %d", option, arg, lowest, highest);
    *value = (int)number;
    return 0;
}

error_t parse_size(struct argp_state *state, const char *option, const char *arg, int64_t *value)
{
    return read_integer(arg, 1, INT64_MAX, value) ? 0 : refuse(state, "%s \"%s\" is not a number from 1 to 2^63 - 1", option, arg);
}

const char *choice_name(const struct choice *list, int value)
{
    for (const struct choice *c = list; c->name; c++)
        if (c->value == value) return c->name;
    return "";
}
