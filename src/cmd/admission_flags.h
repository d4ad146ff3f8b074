/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ADMISSION_FLAGS_H
#define CMD_ADMISSION_FLAGS_H

/* What the command line says of admission plugins (apiserver/admission/admission_config.h). */

#include "apiserver/admission/admission_config.h"
#include "cmd/options.h"

struct admission_flags {
    const char *on, *off;           /* plugins, with commas */
    const char *file;               /* AdmissionConfiguration, or NULL */
    struct admission_config config; /* what it says, after admission_flags_load */
};

#define ADMITTING_OPTIONS(a)                                                                      \
    OPTIONS_GROUP("Admission"),                                                                   \
        { "--admission-control-config-file", OPTION_STRING, &(a)->file, "FILE",                   \
          "Configure the plugins EventRateLimit and ResourceQuota (limitedResources) with this "  \
          "AdmissionConfiguration (apiserver.config.k8s.io/v1)." },                               \
        { "--enable-admission-plugins", OPTION_STRING, &(a)->on, "NAMES",                         \
          "Enable these plugins, separated by commas. Only StorageObjectInUseProtection is "      \
          "disabled by default: it adds finalizers that only a kube-controller-manager "          \
          "removes." },                                                                           \
    {                                                                                             \
        "--disable-admission-plugins", OPTION_STRING, &(a)->off, "NAMES",                         \
            "Disable these plugins, separated by commas: DenyServiceExternalIPs, EventRateLimit " \
            "or PodSecurity. The other plugins cannot be disabled."                               \
    }

/* Reads the file, and those it names, while we may.  What it says lives in the arena. */
int admission_flags_load(struct admission_flags *o, struct arena *a, struct status *st)
    __attribute__((warn_unused_result));

#endif
