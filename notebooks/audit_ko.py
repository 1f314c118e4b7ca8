# %% [markdown]
# # GPU 작업 감사
#
# 아래의 모든 서술은 근거가 되는 줄이나 표본을 적고, 그것이 증명하지 않는 것을 함께 적는다. 수집되지 않은 신호는 알 수 없음으로 적으며
# 0으로 세지 않는다. 이벤트의 시간 순서는 단서일 뿐 설명이 아니다.

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
lang: str = "ko"

# %% 증거 읽기
import crashlens as cl

case = cl.read(evidence, tz=tz_by_source or tz or None, year=year or None, rules=rules or None)
case = case.window(window) if window else case

# %% [markdown]
# ## 요약

# %% 결론 내리기
findings = case.findings(lang=lang).in_zone(show_tz)
findings.summary()

# %% [markdown]
# ## 범위와 구간
#
# 무엇을 살펴보았으며 언제의 일인지 적는다.

# %% 범위 재기
case.scope(show_tz=show_tz, lang=lang)

# %% [markdown]
# ## 조사 결과
#
# 중요한 순서로 적는다. 판정은 입력이 조사 결과를 얼마나 받쳐 주는지를 나타낸다. **뒷받침됨**은 직접 증거가 있고 반하는 것이 없는 경우,
# **부합함**은 다른 설명이 열려 있는 경우, **판단 불가**는 필요한 신호가 없는 경우, **문제 없음**은 조치가 필요 없는 경우이다.

# %% 조사 결과 보이기
findings

# %% [markdown]
# ## 판단할 수 있는 것과 없는 것
#
# 없는 신호가 무엇을 열어 두는지, 다음에는 무엇으로 수집할 수 있는지 적는다.

# %% 판단할 수 있는 것 확인하기
case.coverage(lang=lang)

# %% [markdown]
# ### 없는 신호를 수집하는 방법

# %% 수집 방법 나열
case.what_to_collect(lang=lang)

# %% [markdown]
# ## 한 시간축에 놓은 구간
#
# 조사 결과에 나온 GPU는 색으로, 나머지는 회색으로 그린다. 선이 끊긴 곳은 텔레메트리가 없는 곳이다.

# %% 시간축 그리기
case.timeline(show_tz=show_tz, lang=lang)

# %% [markdown]
# ## 소스와 버전
#
# 파일, 규칙, 카탈로그가 같으면 같은 결론이 나온다.

# %% 소스 나열하기
case.read_sources(lang=lang)

# %% 어떤 규칙도 모르는 줄 나열하기
case.unmatched(lang=lang)

# %% 다이제스트 나열하기
case.digests(lang=lang)

# %% 시계 나열하기
case.clock_table(lang=lang)

# %% 규칙과 카탈로그 나열하기
case.versions(lang=lang)
