// `ack` and `release`: what becomes of a lock's items.

import { isLockId } from '../../engine/core/keys.ts'
import { RELEASE_DELAY_SECONDS_MAX } from '../../engine/core/limits.ts'
import type { AcknowledgeResult } from '../../engine/queues.ts'
import { lostLockCodes } from '../../shared/hold-lock.ts'
import { present } from '../../shared/wire.ts'
import { byHundreds, idsGiven, idsOption } from '../arguments.ts'
import { command, duration, flag, queueWord } from '../command.ts'
import {
  codeOf,
  type ExitCode,
  exitCodeOf,
  exitCodes,
  Failure,
  messageOf,
  wrongUsage,
} from '../failure.ts'
import type { Target } from '../target/target.ts'
import { counted } from '../text.ts'

export const ack = command({
  name: 'ack',
  summary: 'Acknowledges locks, or some items of one',
  words: [queueWord, { name: 'LOCK', kind: 'text', many: true }],
  options: {
    ids: idsOption('only these items of the lock, by their ids'),
  },
  notes: [
    'A lock that has expired or is not there is named, and the exit code is 4; it is 2 for what is\n' +
      'no lock id.',
  ],
  examples: [
    'pushpop ack orders aB3dE5gH7jK',
    'pushpop ack orders aB3dE5gH7jK --ids x7Gh2kQz-0-0,x7Gh2kQz-0-1',
  ],
  async run({ given, words, isJson, print, tell, paint, target }) {
    const [queue = '', ...lockIds] = words
    const queues = await target()
    const ids = idsGiven(given.ids)
    if (ids !== undefined) {
      const [lockId = ''] = lockIds
      if (lockIds.length > 1) throw wrongUsage('Cannot ack because --ids goes with one lock')
      const { itemsAcknowledged } = await queues
        .acknowledge(queue, { lockId, ids })
        .catch((error: unknown) => {
          throw settleFailure(lockId, error)
        })
      if (isJson) await print(JSON.stringify({ items_acknowledged: itemsAcknowledged }))
      else tell(`Acknowledged ${counted(itemsAcknowledged, 'item')} of ${queue}.`)
      return exitCodes.done
    }
    const results = await acknowledgeAll(queues, queue, lockIds)
    for (const result of results) {
      if (isJson) await print(resultLine(result))
      else if (result.kind === 'refused') tell(paint('red', refusalLine(result)))
    }
    const items = results.reduce(
      (sum, result) => sum + (result.kind === 'acknowledged' ? result.itemsAcknowledged : 0),
      0,
    )
    const refusals = results.filter((result) => result.kind === 'refused')
    if (!isJson && refusals.length < results.length) {
      tell(`Acknowledged ${counted(items, 'item')} of ${queue}.`)
    }
    const known = refusals.filter(({ lockId }) => isLockId(lockId))
    if (!isJson && known.some(({ code }) => code !== 'STORE_UNAVAILABLE')) {
      tell(
        'A lock that is not there has expired or was settled; what was not settled can be popped again.',
      )
    }
    return worstOf(refusals.map(exitCodeOfRefusal))
  },
})

type Refusal = Extract<AcknowledgeResult, { readonly kind: 'refused' }>

/** Asked only about what was refused: the service alone knows what its locks look like. */
const isNoLock = ({ lockId, code }: Pick<Refusal, 'lockId' | 'code'>): boolean =>
  code !== 'STORE_UNAVAILABLE' && !isLockId(lockId)

const NO_LOCK = 'is no lock id; pushpop pop --ack prints them'

const refusalLine = (refusal: Refusal): string =>
  isNoLock(refusal)
    ? `${JSON.stringify(refusal.lockId)} ${NO_LOCK}`
    : `${refusal.lockId}: ${refusal.message}`

const exitCodeOfRefusal = (refusal: Refusal): ExitCode =>
  isNoLock(refusal) ? exitCodes.wrongUsage : exitCodeOf(refusal.code)

/** What to say where one lock was to be settled: input that is no lock id never works. */
function settleFailure(lockId: string, error: unknown): unknown {
  const code = lostLockCodes.find((one) => one === codeOf(error))
  if (code === undefined || isLockId(lockId)) return error
  return new Failure(exitCodes.wrongUsage, `${JSON.stringify(lockId)} ${NO_LOCK}`, {
    code,
    cause: error,
  })
}

async function acknowledgeAll(
  queues: Target,
  queue: string,
  lockIds: readonly string[],
): Promise<AcknowledgeResult[]> {
  const [only] = lockIds
  if (lockIds.length === 1 && only !== undefined) return [await acknowledgeOne(queues, queue, only)]
  return byHundreds(lockIds, (some) => queues.acknowledgeMany(queue, some))
}

/** The call for one lock is a write less than the call for many, and says the same. */
async function acknowledgeOne(
  queues: Target,
  queue: string,
  lockId: string,
): Promise<AcknowledgeResult> {
  try {
    return { lockId, kind: 'acknowledged', ...(await queues.acknowledge(queue, { lockId })) }
  } catch (error) {
    const code = lostLockCodes.find((one) => one === codeOf(error))
    if (code === undefined) throw error
    return { lockId, kind: 'refused', code, message: messageOf(error) }
  }
}

const resultLine = (result: AcknowledgeResult): string =>
  JSON.stringify(
    result.kind === 'acknowledged'
      ? { lock_id: result.lockId, success: true, items_acknowledged: result.itemsAcknowledged }
      : {
          lock_id: result.lockId,
          success: false,
          error_code: result.code,
          message: result.message,
        },
  )

/** A fault weighs more than a refusal: a refusal is final, and a fault may pass. */
const worstOf = (codes: readonly ExitCode[]): ExitCode =>
  codes.includes(exitCodes.failed) ? exitCodes.failed : (codes[0] ?? exitCodes.done)

export const release = command({
  name: 'release',
  summary: 'Gives back a lock, or some items of one, now or later',
  words: [queueWord, { name: 'LOCK', kind: 'text' }],
  options: {
    ids: idsOption('only these items of the lock, by their ids'),
    delay: duration(
      0,
      RELEASE_DELAY_SECONDS_MAX,
      'they are back so much later, up to a day: 90, 15m or 2h',
    ),
    overtake: flag('with --delay: others may be popped until then, where no consumers compete'),
  },
  notes: [
    'The items are first again when they are back, in order. pushpop peek shows waiting items.',
  ],
  examples: [
    'pushpop release orders aB3dE5gH7jK',
    'pushpop release orders aB3dE5gH7jK --delay 300 --overtake',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', lockId = ''] = words
    const { delay: delaySeconds, overtake } = given
    const ids = idsGiven(given.ids)
    const queues = await target()
    const { itemsReleased } = await queues
      .release(queue, present({ lockId, ids, delaySeconds, overtake }))
      .catch((error: unknown) => {
        throw settleFailure(lockId, error)
      })
    const when = delaySeconds ? `; back in ${counted(delaySeconds, 'second')}` : ''
    if (isJson) await print(JSON.stringify({ items_released: itemsReleased }))
    else tell(`Released ${counted(itemsReleased, 'item')} of ${queue}${when}.`)
    return exitCodes.done
  },
})
