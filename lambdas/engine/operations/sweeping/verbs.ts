import type { Queues } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { announceWaiting } from './announce-waiting.ts'
import { startTimers } from './start-timers.ts'
import { returnExpiredLocks } from './sweep.ts'
import { wake } from './wake.ts'

type SweepingVerbs = Pick<Queues, 'returnExpiredLocks' | 'wake' | 'announceWaiting' | 'startTimers'>

/** Work that goes through the queues, and that no caller waits for. */
export const sweepingVerbs = (engine: Engine): SweepingVerbs => ({
  returnExpiredLocks: (request) => returnExpiredLocks(engine, request),
  wake: (request) => wake(engine, request),
  announceWaiting: (request) => announceWaiting(engine, request),
  startTimers: (request) => startTimers(engine, request),
})
