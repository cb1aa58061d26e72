import { popScenarios } from './pop-scenarios.ts'
import { pushScenarios } from './push-scenarios.ts'
import type { Scenario } from './scenario.ts'
import { settleScenarios } from './settle-scenarios.ts'
import { upkeepScenarios } from './upkeep-scenarios.ts'

export const scenarios: readonly Scenario[] = [
  ...pushScenarios,
  ...popScenarios,
  ...settleScenarios,
  ...upkeepScenarios,
]
