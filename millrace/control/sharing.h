// Which jobs read the same rows, so that one production serves them all: the part of
// the dispatcher's knowledge that is a pure function of its state.
#pragma once

#include <string>

#include "millrace/api/service.h"
#include "millrace/control/state.h"

namespace millrace::control {

// What the rows of a job follow from, with the name of its group, however its sources
// are cut; empty: it shares them with nobody.
std::string SharedRows(const JobState& job, const api::JobFacts& facts);

// What jobs that share their rows have in common, besides nothing else: what the rows
// follow from, the seed, and the group's name where they have one. Empty: the job
// shares with nobody, or its sources were not listed yet.
std::string ShareOf(const JobState& job);

// Whether its settings name a group.
bool NamesGroup(const api::JobSettings& settings);

// Adds what another worker did for a job; lag and window are of now, and add up too.
void Add(api::JobVisits& visits, const api::JobVisits& others);

}  // namespace millrace::control
