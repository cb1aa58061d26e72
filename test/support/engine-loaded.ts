// In virtual time nobody waits for a file: what the engine loads when somebody asks for it is loaded before.
import '../../lambdas/engine/operations/configuring/configure-patterns.ts'
import '../../lambdas/engine/operations/later/list-scheduled.ts'
import '../../lambdas/engine/operations/looking/list.ts'
import '../../lambdas/engine/operations/moving/verbs.ts'
import '../../lambdas/engine/operations/scheduling/verbs.ts'
import '../../lambdas/engine/operations/settling/cancel.ts'
import '../../lambdas/engine/operations/sweeping/sweep-schedules.ts'
import '../../lambdas/engine/operations/sweeping/verbs.ts'
