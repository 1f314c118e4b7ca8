# %% [markdown]
# # Ten minutes with crashlens
#
# The sample is synthetic: eight GPUs train, one of them gets hot and slows the run down, later an Xid ends the job. Put
# the path of your own folder in place of it.

# %% Read
import crashlens as cl

case = cl.read(cl.sample("throttled_then_xid94"), tz="UTC")

# %% [markdown]
# ## What was read, and what can it decide?
#
# The case says first what it did not read and which questions it cannot decide.

# %% Look
case

# %% [markdown]
# ## What happened?
#
# Each finding names its lines and says what they do not prove.

# %% Findings
findings = case.findings()
findings

# %% [markdown]
# ## What does the time around it look like?
#
# A window is half-open and in UTC; nothing outside it is counted.

# %% Window
hour = case.window("2026-10-01T08:20:00Z", "2026-10-01T09:20:00Z")
hour.timeline()

# %% [markdown]
# ## How far did the SM clock of each GPU fall?
#
# Tables are polars frames; every column carries its unit in its name.

# %% Table
import polars as pl

hour.samples.group_by("gpu_key").agg(pl.col("sm_clock_mhz").median(), pl.col("gpu_temperature_c").max()).sort("gpu_key")

# %% [markdown]
# ## What was not collected?
#
# A missing signal leaves its question open, and the table says what can still be said without it. `case.what_to_collect()` lists the
# commands that would collect it.

# %% Coverage
case.coverage()

# %% [markdown]
# ## Keep it, and send it
#
# A saved case opens again without the logs. The audit is a PDF made from the notebook `audit`:
# `crashlens audit FOLDER -o audit.pdf --tz UTC`.

# %% Save and open
import tempfile

folder = case.save(tempfile.mkdtemp() + "/case")
cl.open(folder)
