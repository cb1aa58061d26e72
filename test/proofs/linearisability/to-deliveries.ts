import type { Deliveries } from '../../support/deliveries.ts'
import { DeliveryAccount } from '../../support/delivery-account.ts'
import type { RecordedCall } from './recorder.ts'

/** The calls on one queue as what was pushed, delivered and settled. */
export function toDeliveries(calls: readonly RecordedCall[], exclusive: boolean): Deliveries {
  const account = new DeliveryAccount()
  const { pushes, pops, acknowledgements, releases } = account
  const elsewhere: string[] = []
  /** What is left under each lock, and what may be. */
  const locks = new Map<string, { left: Set<string>; unsure: Set<string> }>()

  const inOrder = calls.toSorted((a, b) => a.calledAt - b.calledAt)
  for (const { operation, answer } of inOrder) {
    if (operation.kind !== 'pop' || answer?.kind !== 'items' || !answer.lock) continue
    const left = new Set(answer.items.map(({ name }) => name))
    locks.set(answer.lock.id, { left, unsure: new Set() })
  }

  function acknowledge(
    lockId: string,
    some: readonly string[] | undefined,
    times: { calledAt: number; answeredAt?: number },
  ) {
    const lock = locks.get(lockId)
    if (lock === undefined) return
    const names = some ?? [...lock.left]
    acknowledgements.push({ lockId, names, ...times })
    const { calledAt } = times
    const unsure = some === undefined ? [...lock.unsure] : []
    if (unsure.length > 0) acknowledgements.push({ lockId, names: unsure, calledAt })
  }

  for (const { operation, answer, calledAt, returnedAt, returnedMs } of inOrder) {
    const answered = answer === undefined ? {} : { answeredAt: returnedAt }
    switch (operation.kind) {
      case 'push':
        if (answer?.kind === 'refused') break
        pushes.push({ items: operation.items, calledAt, ...answered })
        break
      case 'pop': {
        const settles = answer === undefined || 'itemsAcknowledged' in answer
        if (operation.acknowledge !== undefined && settles) {
          acknowledge(operation.acknowledge, undefined, { calledAt, ...answered })
        }
        if (answer === undefined && !operation.requireAck) {
          account.tookUnseen({ least: 0, most: operation.count })
        }
        if (answer?.kind !== 'items') break
        pops.push({
          items: answer.items,
          calledAt,
          answeredAt: returnedAt,
          answeredAtMs: returnedMs,
          ...(answer.lock && { lockId: answer.lock.id }),
          ...(answer.lock && exclusive && { exclusiveUntilMs: answer.lock.expiresAtMs }),
        })
        break
      }
      case 'settle': {
        const { verb, lockId, names } = operation
        if (answer !== undefined && answer.kind !== 'settled') break
        if (verb === 'acknowledge') acknowledge(lockId, names, { calledAt, ...answered })
        else releases.push({ lockId, calledAt })
        const lock = locks.get(lockId)
        for (const name of names ?? []) {
          lock?.left.delete(name)
          if (answer === undefined) lock?.unsure.add(name)
        }
        break
      }
      case 'dead-letters':
        if (answer?.kind === 'dead') elsewhere.push(...answer.names)
        break
      // No history with short locks has these two.
      case 'cancel':
      case 'move':
      case 'extend':
      case 'purge':
      case 'inspect':
      case 'browse':
        break
      default:
        operation satisfies never
    }
  }
  return { pushes, pops, acknowledgements, releases, unseen: account.unseen, elsewhere }
}
