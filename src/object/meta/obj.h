/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_OBJ_H
#define OBJECT_META_OBJ_H

/*
 * An object at rest: a small header, then canonical JSON cut so that answers are put together from
 * pieces and never parsed.
 *
 * The text begins inside of metadata: `"name":"x",…},"data":{…}}`.  What stands before it in an
 * answer (kind, apiVersion, resourceVersion) is written when the object is sent, because it is not
 * the object's: lists leave the kind out, and the revision is known only after the commit.
 * managedFields are kept apart, packed (object/meta/managers.h), and written there too.
 */

#include "base/buf.h"
#include "json/json.h"

enum obj_flags {
    OBJ_HIDDEN = 1 << 0,   /* no object: hides the template row of this name */
    OBJ_TEMPLATE = 1 << 1, /* a template row: uid and creationTimestamp are the instance's */
    OBJ_DELETING = 1 << 2, /* has a deletionTimestamp */
};

struct obj {
    unsigned flags;
    uint32_t schema;    /* version of the schema it was written by */
    str managed;        /* metadata.managedFields, packed; empty: none, or not wanted */
    str text;           /* all of the JSON, from inside of metadata to the end */
    size_t meta;        /* bytes of the text that are metadata, without its closing brace */
    str uid;            /* empty in a template row */
    str labels;         /* JSON object, empty when there are none */
    size_t annotations; /* place in text behind `"annotations":{`, 0 when there are none */
};

/* False when the bytes are not an object: the disk or the program is broken, or it is sealed. */
bool obj_view(str value, struct obj *out);

/*
 * A sealed object has its header as it was, but for a mark, and behind it bytes that only those who
 * sealed it understand (rest/seal.h).
 */
enum { OBJ_HEADER = 32 };
bool obj_is_sealed(str value);
/* The header of a value that has one, with or without the mark. */
void obj_head(str value, bool sealed, char out[OBJ_HEADER]);

/*
 * The bytes to store for a tree; kind, apiVersion and metadata.resourceVersion are left out, and
 * metadata.managedFields are those given.  In the arena.
 */
str obj_encode(struct arena *a, const struct json *tree, str managed, unsigned flags);
str obj_encode_hidden(struct arena *a);
/* Says by which schema it was written; on what obj_encode has just made. */
void obj_stamp(str value, uint32_t schema);

/* What is not the object's own but part of an answer. */
struct obj_frame {
    str type; /* `"kind":"ConfigMap","apiVersion":"v1",`, or empty in a list */
    uint64_t rev;
    str instance;     /* value of the annotation kairship.io/instance, or empty */
    str uid, created; /* of a template row's copy in an instance */
};

#define OBJ_INSTANCE_ANNOTATION "kairship.io/instance"

void obj_write(struct buf *b, const struct obj *o, const struct obj_frame *f);
/* Only metadata: a PartialObjectMetadata. */
void obj_write_partial(struct buf *b, const struct obj *o, const struct obj_frame *f);
/* The same as obj_write in at most three pieces of which only the first is made anew. */
enum { OBJ_PIECES = 4 };
size_t obj_pieces(struct arena *a, const struct obj *o, const struct obj_frame *f,
                  str pieces[OBJ_PIECES]);

/* The whole object as a tree. */
int obj_tree(struct arena *a, const struct obj *o, const struct obj_frame *f,
             const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* Labels as a tree, NULL when there are none. */
const struct json *obj_labels(struct arena *a, const struct obj *o);

#endif
