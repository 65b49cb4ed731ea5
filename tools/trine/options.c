/* Options by argp, but with errors of one line each. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const struct choice precision_choices[] = {{"s", TRINE_S}, {"d", TRINE_D}, {"c", TRINE_C}, {"z", TRINE_Z}, {NULL, 0}};

enum { KEY_HELP = 'h', KEY_USAGE = 1000 }; /* not '?': to argp that is also an option of the byte 0xFF */

enum fault { FAULT_NONE, FAULT_UNKNOWN, FAULT_NO_VALUE };

/** The end of a table; headings of groups have no name either. */
static bool is_end(const struct argp_option *o) { return !o->name && !o->key && !o->doc; }

/** What is wrong with arg, one or several short options: "-j" or "-jx". */
static enum fault find_fault(const struct argp *argp, const char *arg)
{
    if (arg[0] != '-' || arg[1] == '-') return FAULT_NONE;
    for (const char *c = arg + 1; *c; c++) {
        const struct argp_option *o = argp->options;
        while (!is_end(o) && o->key != *c) o++;
        if (is_end(o) && *c != KEY_HELP) return FAULT_UNKNOWN;
        if (o->arg) return c[1] ? FAULT_NONE : FAULT_NO_VALUE;
    }
    return FAULT_NONE;
}

/** The argument at which argp is: the one before the next, or the next one while argp is within several short
 *  options. */
static const char *bad_argument(const struct argp_state *state)
{
    const struct argp *argp = state->root_argp->children->argp;
    const char *const before = state->next >= 1 && state->next <= state->argc ? state->argv[state->next - 1] : NULL;
    const char *const next = state->next < state->argc ? state->argv[state->next] : NULL;
    return next && (!before || !find_fault(argp, before)) && find_fault(argp, next) ? next : before;
}

/** Sees the options before the subcommand's own parser, which is its child. argp's own --help is silent where its
 *  errors are. */
static error_t parse_outer(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    struct parse *input = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = input;
        return 0;
    }
    if (key == ARGP_KEY_ERROR) input->bad = bad_argument(state);
    if (key == KEY_HELP || key == KEY_USAGE) {
        argp_help(state->root_argp, stdout, key == KEY_HELP ? ARGP_HELP_STD_HELP : ARGP_HELP_USAGE, state->name);
        exit(finish_output(EXIT_OK));
    }
    return ARGP_ERR_UNKNOWN;
}

int parse_options(const struct argp *argp, int argc, char **argv, struct parse *input)
{
    char name[64];
    snprintf(name, sizeof name, "trine %s", argv[0]);
    argv[0] = name; /* what --help calls the program */
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    const struct argp_option common[] = {{"help", KEY_HELP, NULL, 0, "print this list", -1},
                                         {"usage", KEY_USAGE, NULL, 0, "print a short list", 0},
                                         {0}};
    const struct argp outer = {.options = common, .parser = parse_outer, .children = children};
    error_t error = argp_parse(&outer, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (!error) return 0;
    if (input->reported) return EXIT_USAGE;
    const char *bad = input->bad ? input->bad : "?";
    if (find_fault(argp, bad) == FAULT_NO_VALUE)
        return fail(EXIT_USAGE, "%s needs a value; `%s --help` explains it", bad, name);
    for (const struct argp_option *o = argp->options; !is_end(o); o++)
        if (o->name && o->arg && !strncmp(bad, "--", 2) && !strcmp(bad + 2, o->name))
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
    if (!read_integer(arg, lowest, highest, &number))
        return refuse(state, "%s \"%s\" is not a number from %d to %d", option, arg, lowest, highest);
    *value = (int)number;
    return 0;
}

error_t parse_fraction(struct argp_state *state, const char *option, const char *arg, bool ends, double *value)
{
    char *end;
    *value = strtod(arg, &end);
    const bool inside = *value > 0 && *value < 1;
    if (*end || end == arg || !(inside || (ends && (*value == 0 || *value == 1))))
        return refuse(state, "%s \"%s\" is no number %s", option, arg, ends ? "from 0 to 1" : "between 0 and 1");
    return 0;
}

error_t parse_size(struct argp_state *state, const char *option, const char *arg, int64_t *value)
{
    return read_integer(arg, 1, INT64_MAX, value)
               ? 0
               : refuse(state, "%s \"%s\" is not a number from 1 to 2^63 - 1", option, arg);
}

const char *choice_name(const struct choice *list, int value)
{
    for (const struct choice *c = list; c->name; c++)
        if (c->value == value) return c->name;
    return "";
}
