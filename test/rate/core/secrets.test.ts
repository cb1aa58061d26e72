import { describe, expect, it } from 'vitest'
import { CLOCKS_APART_MAX_MS } from '../../../rate/core/bounds.ts'
import {
  FORMER_SECRETS_MAX,
  firstSecrets,
  rotated,
  SECRET_SETTLES_MS,
  SECRETS_KEPT_MS,
  secretsAt,
  type TicketSecrets,
  withoutFormer,
} from '../../../rate/secrets.ts'

const secret = (n: number) => new Uint8Array(32).fill(n)
const nowMs = Date.UTC(2030, 0, 1)

function changedBy(change: ReturnType<typeof rotated>): TicketSecrets {
  if (change.kind === 'changed') return change.secrets
  throw new Error('it is settling')
}

/** By their first bytes. */
const numbers = (secrets: readonly Uint8Array[]) => secrets.map(([n]) => n)

describe('Secrets', () => {
  it('that are made first sign at once.', () => {
    expect(numbers(secretsAt(firstSecrets(secret(1)), nowMs))).toEqual([1])
  })

  it('that are changed sign when they have settled, and are taken from the start.', () => {
    const changed = changedBy(rotated(firstSecrets(secret(1)), secret(2), nowMs))
    expect(numbers(secretsAt(changed, nowMs))).toEqual([1, 2])
    expect(numbers(secretsAt(changed, nowMs + SECRET_SETTLES_MS - 1))).toEqual([1, 2])
    expect(numbers(secretsAt(changed, nowMs + SECRET_SETTLES_MS))).toEqual([2, 1])
  })

  it('settle later than the slowest process reads them, whatever two clocks say.', () => {
    expect(SECRET_SETTLES_MS).toBeGreaterThan(SECRETS_KEPT_MS + 2 * CLOCKS_APART_MAX_MS)
  })

  it('are not changed while the last change settles.', () => {
    const changed = changedBy(rotated(firstSecrets(secret(1)), secret(2), nowMs))
    const settling = { kind: 'settling', untilMs: nowMs + SECRET_SETTLES_MS }
    expect(rotated(changed, secret(3), nowMs + 1)).toEqual(settling)
    expect(withoutFormer(changed, nowMs + 1)).toEqual(settling)
    expect(rotated(changed, secret(3), settling.untilMs).kind).toBe('changed')
  })

  it('that were replaced stay good, the latest few.', () => {
    let secrets = firstSecrets(secret(0))
    for (let n = 1; n <= 6; n += 1) {
      secrets = changedBy(rotated(secrets, secret(n), nowMs + n * SECRET_SETTLES_MS))
    }
    expect(numbers(secrets.former)).toEqual([5, 4, 3])
    expect(secrets.former).toHaveLength(FORMER_SECRETS_MAX)
  })

  it('that were replaced can be forgotten.', () => {
    const changed = changedBy(rotated(firstSecrets(secret(1)), secret(2), nowMs))
    const laterMs = nowMs + SECRET_SETTLES_MS
    const without = changedBy(withoutFormer(changed, laterMs))
    expect(numbers(secretsAt(without, laterMs))).toEqual([2])
    expect(withoutFormer(without, laterMs)).toEqual({ kind: 'changed', secrets: without })
  })
})
