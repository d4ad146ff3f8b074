/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_FAULT_WALK_H
#define OBJECT_CEL_CEL_FAULT_WALK_H

/*
 * How ANTLR's parsers go on behind a fault (k8s: antlr4 runtime/Go error_strategy.go), with the
 * limits that cel-go sets (parser/parser.go).  cel_faults.c walks the grammar with these.  What may
 * stand at a place is what its rule allows there, and behind the end of the rule what the rules
 * around it allow.  `state` is the number of a place in the grammar: no two have the same.
 */

#include "object/cel/cel_faults.h"

typedef uint64_t set; /* of words, a bit each */

#define ONE(word) ((set)1 << WORD_##word)
#define REST      ((set)1 << 63) /* the rule may end here */

/* k8s: cel-go parser.go NewParser */
enum { REPORTS_MAX = 100, RECOVERIES_MAX = 30, SKIPPED_MAX = 256, STATES = 257 };

enum rule {
    RULE_EXPR,
    RULE_OR,
    RULE_AND,
    RULE_RELATION,
    RULE_CALC,
    RULE_UNARY,
    RULE_MEMBER,
    RULE_PRIMARY,
    RULE_EXPRS,
    RULE_LIST,
    RULE_FIELDS,
    RULE_FIELD,
    RULE_ENTRIES,
    RULE_NAME,
    RULE_OPT_EXPR,
    RULE_LITERAL,
    RULES,
};

struct frame {
    set behind;   /* what may stand behind the rule */
    set recovery; /* where to go on behind a fault: what may follow any rule that is under way */
};

struct walk {
    struct arena *arena;
    str text;
    struct cel_faults *out;
    struct cel_word *words; /* without blanks and comments; read when they are looked at */
    size_t nwords, words_cap, read;
    size_t at; /* the word that is next */
    bool over; /* a limit was passed: nothing more is told, all ends */
    struct frame frame;
    unsigned depth[RULES];
    /* Faults are told again once a word was as expected. */
    bool recovering;
    size_t failed_at; /* word and places of the last fault, so that one cannot come twice */
    uint64_t failed_in[STATES / 64 + 1];
    unsigned reports, recoveries, skipped;
    /* Of what was read, not of how: told last, and not at all when a limit was passed. */
    struct cel_fault *meanings;
    size_t nmeanings, meanings_cap;
};

static inline bool has(set s, enum cel_word_type type)
{
    return s >> type & 1;
}

/* The word `ahead` of the next one; the next one's type; where it is. */
struct cel_word walk_word(struct walk *w, size_t ahead);
enum cel_word_type walk_type(struct walk *w);
int64_t walk_here(struct walk *w);
/* The next word is the one that is wanted here; where it is. */
int64_t walk_take(struct walk *w);

/* A fault of what was read. */
void walk_meaning(struct walk *w, int64_t at, const char *why);
/* None of a rule's forms begins with the words from here to `ahead`.  Always false. */
bool walk_no_form(struct walk *w, unsigned state, size_t ahead);
/* Before a choice: whether one of these comes.  False: the rule ends here. */
bool walk_choose(struct walk *w, unsigned state, set s);
/* Behind a round of a loop: what fits neither another nor what follows is skipped. */
void walk_go_round(struct walk *w, set s);
/* The word that must come; `then` may stand behind it.  False: the rule ends here. */
bool walk_need(struct walk *w, unsigned state, enum cel_word_type wanted, set then);

/* Around a rule, which `follow` may stand behind. */
struct frame walk_enter(struct walk *w, enum rule rule, set follow);
void walk_leave(struct walk *w, enum rule rule, struct frame was);

#endif
