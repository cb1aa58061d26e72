import { checkOptions, type Names } from '../../foundation/shared/known-options.ts'
import type { Edge } from './edge.ts'
import { checkHandler, type Handler } from './handler.ts'
import { inShort } from './in-short.ts'
import { type List, lookerOf } from './look.ts'
import { type ConsumeManyOptions, checkWhich, manySettingsOf, type Which } from './many-options.ts'
import type { Counts } from './run.ts'
import { untilGrace } from './stop.ts'
import type { ManyTrouble } from './trouble.ts'
import { workMany } from './work-many.ts'

const names: Names<ConsumeManyOptions> = {
  queuesAtOnce: 0,
  batchSize: 0,
  lockTtlSeconds: 0,
  maxDeliveries: 0,
  retry: 0,
  competing: 0,
  signal: 0,
  graceMs: 0,
  idleMsMax: 0,
  onError: 0,
}

type ManyPorts = Omit<Edge, 'report'> & { readonly list: List }

/** Works many queues until the signal comes, over HTTP or on the table. */
export async function consumeManyWith(
  { list, ...edge }: ManyPorts,
  which: Which,
  handler: Handler,
  options: ConsumeManyOptions,
): Promise<Omit<Counts, 'batches'>> {
  checkWhich(which)
  checkHandler(handler)
  checkOptions(options, names)
  const settings = manySettingsOf(options)
  const { signal, graceMs, onError = toConsole } = options
  const stopping = untilGrace(signal, graceMs)
  let failure: { readonly error: unknown } | undefined
  const report = (trouble: ManyTrouble): void => {
    try {
      onError(trouble)
    } catch (error) {
      failure ??= { error }
      stopping.halt()
    }
  }
  try {
    const look = lookerOf(list, which)
    const { batches: _, ...consumed } = await workMany(
      settings,
      handler,
      { ...edge, look, report },
      stopping,
    )
    if (failure !== undefined) throw failure.error
    return consumed
  } finally {
    stopping.over()
  }
}

function toConsole(trouble: ManyTrouble): void {
  const where = 'queue' in trouble ? ` of queue "${trouble.queue}"` : ''
  const cause = 'error' in trouble ? [inShort(trouble.kind, trouble.error)] : []
  console.error(`PushPop${where}: ${sentences[trouble.kind]}`, ...cause)
}

const sentences: Readonly<Record<ManyTrouble['kind'], string>> = {
  handler: 'a handler failed, and its items come again',
  'handler-late': 'a handler has been at work for five minutes',
  'lock-lost': 'a lock ended before its items were settled, and they are delivered again',
  'answer-late': 'a lock had expired before its answer arrived',
  request: 'a request failed and is tried again',
  queue: 'the work failed and is tried again later',
  look: 'the list of queues could not be read and is tried again',
}
