# %% [markdown]
# # Audit of a GPU job
#
# Every statement below names the lines or samples that it rests on, and says what they do not prove. Signals that were
# not collected are listed as unknown; they never count as zero. The order of events in time is a lead, not an
# explanation.

# %% tags=["parameters"]
evidence: list[str] = ["sample_data/throttled_then_xid94"]
window: str = ""
tz: str = ""
tz_by_source: dict[str, str] = {}
year: int = 0
rules: list[str] = []
show_tz: str = "UTC"
title: str = ""
client: str = ""
lang: str = "en"

# %% Reading the evidence
import crashlens as cl

case = cl.read(evidence, tz=tz_by_source or tz or None, year=year or None, rules=rules or None)
case = case.window(window) if window else case

# %% [markdown]
# ## Summary

# %% Drawing conclusions
findings = case.findings(lang=lang).in_zone(show_tz)
findings.summary()

# %% [markdown]
# ## Scope and window
#
# What was looked at, and when it happened.

# %% Measuring the scope
case.scope(show_tz=show_tz, lang=lang)

# %% [markdown]
# ## Findings
#
# In order of importance. A verdict says how well the input carries a finding: *supported* is direct evidence with nothing
# against it, *consistent* leaves another explanation open, *undecided* lacks a signal, *benign* needs no action.

# %% Showing the findings
findings

# %% [markdown]
# ## What can and cannot be decided
#
# What each missing signal leaves open, and what would collect it next time.

# %% Checking what can be decided
case.coverage(lang=lang)

# %% [markdown]
# ### How to collect what is missing

# %% Listing what to collect
case.what_to_collect(lang=lang)

# %% [markdown]
# ## The window on one time axis
#
# GPUs that a finding names are in colour, all others in grey. A gap in a line is a gap in the telemetry.

# %% Drawing the timeline
case.timeline(show_tz=show_tz, lang=lang)

# %% [markdown]
# ## Sources and versions
#
# With the same files, rules and catalogs the same conclusions come out.

# %% Listing the sources
case.read_sources(lang=lang)

# %% Listing what no rule knows
case.unmatched(lang=lang)

# %% Listing the digests
case.digests(lang=lang)

# %% Listing the clocks
case.clock_table(lang=lang)

# %% Listing rules and catalogs
case.versions(lang=lang)
