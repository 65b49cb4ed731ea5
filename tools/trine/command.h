/* What the subcommands of `trine` share: exit codes, errors, options, progress, output. */
#ifndef TRINE_COMMAND_H
#define TRINE_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <trine/trine.h>

/** Exit codes, in --help and docs/reference/command.md. Code 1 is left to the shell's and the system's own failures. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_USAGE = 2,     /* an option or argument is wrong */
    EXIT_FILE = 3,      /* a file cannot be read or written */
    EXIT_FORMAT = 4,    /* a file does not follow its format */
    EXIT_STRUCTURE = 5, /* the matrix or right-hand side does not suit: not square, empty, not finite, wrong length,
                           not of the method's form */
    EXIT_SINGULAR = 6,  /* zero or missing pivot, not positive definite, numbers beyond the range of the precision */
    EXIT_DEVICE = 7,    /* the device asked for is not there, or failed */
    EXIT_MEMORY = 8,    /* out of host or device memory */
    EXIT_MISSING = 9,   /* a part that is not built or not installed, or a combination that is not supported */
    EXIT_NO_DIGITS = 10 /* singular to working precision, or the solution does not satisfy the system */
};
extern const char exit_code_help[];

int command_solve(int argc, char **argv);
int command_info(int argc, char **argv);
int command_gallery(int argc, char **argv);
int command_forest(int argc, char **argv);
int command_version(int argc, char **argv);
int command_bench(int argc, char **argv);

/* ------------------------------------------------------------------ errors */

/** Print "trine: ..." as one line on stderr; returns code. */
__attribute__((format(printf, 2, 3))) int fail(enum exit_code code, const char *format, ...);
/** The same for a status of the library, with its sentence. */
int fail_status(trine_status status);

/** Everything has been printed: code, or EXIT_FILE, which is then told, where standard output does not take it. */
int finish_output(int code);

/** Print "trine: kind: message" as one line on stderr. */
void say(const char *kind, const char *message);

/* One clean-up path: a function with `trine_status status = TRINE_SUCCESS;` and a label `done`. */
#define TRY(call) do { status = (call); if (status != TRINE_SUCCESS) goto done; } while (0)
#define FAIL(...) do { status = trine_fail(__VA_ARGS__); goto done; } while (0)

/* ----------------------------------------------------------------- options */

/** First member of every subcommand's options. */
struct parse {
    bool reported;   /* the error line is out */
    const char *bad; /* the word at which argp gave up */
};
/** argp_parse, but every error is one line. 0 or EXIT_USAGE; argv[0] is the name of the subcommand. */
int parse_options(const struct argp *argp, int argc, char **argv, struct parse *input);
/** For parsers: print an error and return what makes argp stop. */
__attribute__((format(printf, 2, 3))) error_t refuse(struct argp_state *state, const char *format, ...);

struct choice {
    const char *name;
    int value;
}; /* lists end with a NULL name */
error_t choose(struct argp_state *state, const char *option, const char *arg, const struct choice *list, int *value);
error_t parse_size(struct argp_state *state, const char *option, const char *arg, int64_t *value); /* at least 1 */
/** Between 0 and 1; with `ends`, also 0 and 1. */
error_t parse_fraction(struct argp_state *state, const char *option, const char *arg, bool ends, double *value);
error_t parse_count(struct argp_state *state, const char *option, const char *arg, int lowest, int highest, int *value);
/** Name of a value of the list; "" if there is none. */
const char *choice_name(const struct choice *list, int value);
extern const struct choice precision_choices[];

/* ---------------------------------------------------------------- progress */

/** A step that lasts more than two seconds shows its name and age on stderr, if that is a terminal. */
void step_begin(const char *name);
/** Ends the step; seconds since its begin. */
double step_end(void);

/* ------------------------------------------------------------------ output */

/** 27783 -> "27,783". The text lives until the eighth next call. */
const char *grouped(int64_t number);

struct strings {
    char **items;
    int64_t count;
};
void add_string(struct strings *strings, const char *text); /* a copy; none where there is no memory */
void free_strings(struct strings *strings);

/** One flat object on stdout, key after key. */
void json_begin(void);
void json_end(void);
void json_string(const char *key, const char *value);
void json_integer(const char *key, int64_t value);
void json_boolean(const char *key, bool value);
void json_number(const char *key, double value); /* NaN and Inf become null */
void json_integers(const char *key, const int64_t *values, int64_t count);
void json_numbers(const char *key, const double *values, int64_t count);
void json_strings(const char *key, const struct strings *values);

/* ---------------------------------------------------------------- matrices */

/** Read path with values of type t; t = 0: double, or double complex if the file is complex. path "-":
 *  standard input. */
trine_status read_matrix(trine_context ctx, trine_matrix *A, const char *path, trine_dtype t,
                         const trine_read_options *limits);

/** The same of right-hand sides and orders: trine_vectors_read_with, but errors say what helps. */
trine_status read_vectors(trine_context ctx, const char *path, trine_dtype t, void **data, int64_t *rows, int64_t *cols,
                          const trine_read_options *limits);
/** Whether there is a regular file of the first name, and the second names it too. */
bool is_same_file(const char *path, const char *other);

/** --max-rows and --max-text, for a subcommand's table and its parser: ARGP_ERR_UNKNOWN if key is neither. */
enum { KEY_MAX_ROWS = 512, KEY_MAX_TEXT };
#define LIMIT_OPTIONS                                                                                             \
    {"max-rows", KEY_MAX_ROWS, "N", 0,                                                                            \
     "most rows and columns of a matrix, most values of right-hand sides in a coordinate file (default 2^20, or " \
     "16 for each byte of the file if that is more)", 0},                                                         \
    {"max-text", KEY_MAX_TEXT, "N", 0,                                                                            \
     "most bytes that a gzipped file inflates to (default 2^26, or 64 for each byte of the file if that is more)", 0}
error_t parse_limit(int key, char *arg, struct argp_state *state, trine_read_options *limits);

#endif
