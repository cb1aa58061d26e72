import type { Scenario } from '../bench.ts'
import { rateLimits } from '../rate/rate-limits.ts'
import { bulk100, bulk1000 } from './bulk.ts'
import { coldStart } from './cold-start.ts'
import { consumers } from './consumers.ts'
import { cpu } from './cpu.ts'
import { depth } from './depth.ts'
import { handlerCpu } from './handler-cpu.ts'
import { hotQueue } from './hot-queue.ts'
import { http } from './http.ts'
import { inbox } from './inbox.ts'
import { keyed } from './keyed.ts'
import { largeItems } from './large-items.ts'
import { largePush } from './large-push.ts'
import { lateness } from './lateness.ts'
import { linger } from './linger.ts'
import { memory } from './memory.ts'
import { patterns } from './patterns.ts'
import { peers } from './peers.ts'
import { popAcknowledge } from './pop-acknowledge.ts'
import { pushSingle } from './push-single.ts'
import { recordSize } from './record-size.ts'
import { scheduled } from './scheduled.ts'
import { sweep } from './sweep.ts'
import { throttled } from './throttled.ts'
import { transactions } from './transactions.ts'

/** In the order of the table; memory last, because it empties the queue that depth has filled. */
export const scenarios: readonly Scenario[] = [
  pushSingle,
  inbox,
  hotQueue,
  throttled,
  keyed,
  linger,
  transactions,
  popAcknowledge,
  consumers,
  bulk100,
  bulk1000,
  largePush,
  largeItems,
  depth,
  recordSize,
  scheduled,
  sweep,
  patterns,
  cpu,
  handlerCpu,
  coldStart,
  http,
  lateness,
  peers,
  rateLimits,
  memory,
]
