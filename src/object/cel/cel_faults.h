/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_FAULTS_H
#define OBJECT_CEL_CEL_FAULTS_H

/*
 * All faults of syntax, as cel-go tells them.  cel-go has a parser that ANTLR made, which goes on
 * behind a fault: it leaves out a word, adds one, or skips to one that can follow.  cel_parse()
 * stops at the first; for what it refused this walks the same grammar with the same habits, and
 * tells the same faults.  It makes no tree, and is not for expressions that are right.
 */

#include "object/cel/cel_internal.h"

/* Words, in the order of the grammar's: sets of them print in it. */
#define CEL_WORDS(X)       \
    X(END, "<EOF>")        \
    X(EQ, "'=='")          \
    X(NE, "'!='")          \
    X(IN, "'in'")          \
    X(LT, "'<'")           \
    X(LE, "'<='")          \
    X(GE, "'>='")          \
    X(GT, "'>'")           \
    X(AND, "'&&'")         \
    X(OR, "'||'")          \
    X(LBRACKET, "'['")     \
    X(RBRACKET, "']'")     \
    X(LBRACE, "'{'")       \
    X(RBRACE, "'}'")       \
    X(LPAREN, "'('")       \
    X(RPAREN, "')'")       \
    X(DOT, "'.'")          \
    X(COMMA, "','")        \
    X(MINUS, "'-'")        \
    X(NOT, "'!'")          \
    X(QUESTION, "'?'")     \
    X(COLON, "':'")        \
    X(PLUS, "'+'")         \
    X(STAR, "'*'")         \
    X(SLASH, "'/'")        \
    X(PERCENT, "'%'")      \
    X(TRUE, "'true'")      \
    X(FALSE, "'false'")    \
    X(NULL, "'null'")      \
    X(BLANK, "WHITESPACE") \
    X(COMMENT, "COMMENT")  \
    X(FLOAT, "NUM_FLOAT")  \
    X(INT, "NUM_INT")      \
    X(UINT, "NUM_UINT")    \
    X(STRING, "STRING")    \
    X(BYTES, "BYTES")      \
    X(IDENT, "IDENTIFIER") \
    X(QUOTED, "ESC_IDENTIFIER")

enum cel_word_type {
#define X(name, text) WORD_##name,
    CEL_WORDS(X)
#undef X
        WORD_BAD, /* bytes that begin no word */
};

struct cel_word {
    enum cel_word_type type;
    size_t at, end;
};

/* The longest word at a byte, blanks and comments too.  The text is UTF-8.  cel_fault_words.c */
struct cel_word cel_word_at(str text, size_t at);
/* What is wrong with the value of a number, a string or bytes, or NULL; with the sign, if any. */
const char *cel_word_value_fault(struct arena *a, str text, struct cel_word w, bool negative);

/* Tells the faults; none where it sees none. */
void cel_syntax_faults(str text, struct cel_faults *out);

#endif
