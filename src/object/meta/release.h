/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_RELEASE_H
#define OBJECT_META_RELEASE_H

/*
 * What shall become of the objects that an Instance has distributed to its members when it is
 * deleted.  A person says so: with the annotation, in spec.release, or by the product's label.
 * Nobody decides it for them, so there is no default: an Instance with members that says nothing is
 * not deleted (apiserver/admission/admit_instance.c).
 */

#include "json/json.h"

#define RELEASE_ANNOTATION "kairship.io/release"
/* Of the product.  "true" is Orphan; its operator writes "false" by itself, so that is no wish. */
#define RELEASE_LABEL "karmada.install.io/disable-cascading-deletion"

enum release { RELEASE_UNSAID, RELEASE_DESTROY, RELEASE_ORPHAN };

static inline enum release release_of_word(str word)
{
    return str_is(word, "Destroy")  ? RELEASE_DESTROY
           : str_is(word, "Orphan") ? RELEASE_ORPHAN
                                    : RELEASE_UNSAID;
}

/* The annotation is the last word, since it is about the deletion that is at hand. */
static inline enum release release_of(const struct json *instance)
{
    const struct json *notes = json_path(instance, "metadata.annotations");
    const struct json *labels = json_path(instance, "metadata.labels");
    enum release said = release_of_word(json_str(json_get(notes, STR(RELEASE_ANNOTATION))));

    if (said == RELEASE_UNSAID)
        said = release_of_word(json_get_str(instance, "spec.release"));
    if (said == RELEASE_UNSAID && str_is(json_str(json_get(labels, STR(RELEASE_LABEL))), "true"))
        said = RELEASE_ORPHAN;
    return said;
}

#endif
