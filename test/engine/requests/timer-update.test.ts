import { describe, expect, it } from 'vitest'
import { patiently } from '../../../engine/core/record.ts'
import {
  checkAtUpdate,
  lowerCheckAt,
  recordUpdate,
} from '../../../engine/requests/blind-updates.ts'
import { aLane, aRecord, later, nowMs } from '../core/a-record.ts'
import { applied, expectPlaceholdersUsed, storedOf } from './an-update.ts'

const recordWith = (checkAtMs: number | undefined, near = false) => ({
  ...aRecord({ 0: aLane() }, { checkAtMs }),
  near,
})

/** The timer and its flag after an update that makes sure that somebody comes at this time. */
function lowered(seen: ReturnType<typeof recordWith>, atMs: number, is = seen) {
  const update = recordUpdate()
  lowerCheckAt(update, seen, atMs, nowMs)
  // Nothing to change is no update of its own.
  update.set('v', 9)
  const built = update.build()
  expectPlaceholdersUsed(built)
  const { checkAt, wk } = applied(storedOf(is), built)
  return { checkAt, near: wk !== undefined }
}

describe('A timer that is lowered beside the fence', () => {
  const far = 200_000
  it.each([
    ['is set where there is none', undefined, false, later(5), later(5), true],
    ['is set far off without an announcement', undefined, false, later(far), later(far), false],
    ['is lowered', later(9), true, later(5), later(5), true],
    ['is lowered to one that is near, and announced', later(far), false, later(5), later(5), true],
    ['stays where it comes sooner', later(3), true, later(5), later(3), true],
    [
      'becomes prompt where a patient one comes sooner',
      patiently(later(3)),
      false,
      later(5),
      later(2),
      true,
    ],
    [
      'stays patient for what is patient',
      patiently(later(3)),
      false,
      patiently(later(5)),
      patiently(later(3)),
      false,
    ],
    [
      'is lowered from a patient one to an earlier one, and not announced',
      patiently(later(9)),
      false,
      patiently(later(5)),
      patiently(later(5)),
      false,
    ],
    [
      'stays prompt where it is lowered to a patient one, which would hide it',
      later(far),
      false,
      patiently(later(5)),
      later(4),
      true,
    ],
    ['stays where a patient one comes later', later(3), true, patiently(later(5)), later(3), true],
  ])('%s.', (_, checkAtMs, near, atMs, expected, told) => {
    expect(lowered(recordWith(checkAtMs, near), atMs)).toEqual({ checkAt: expected, near: told })
  })

  it('is refused if the timer is another than was seen, unless it comes sooner still.', () => {
    const seen = recordWith(later(9))
    expect(() => lowered(seen, later(5), recordWith(later(7)))).toThrow('conditional')
    expect(() => lowered(recordWith(undefined), later(5), seen)).toThrow('conditional')
    expect(() => lowered(recordWith(later(3)), later(5), seen)).toThrow('conditional')
    expect(lowered(recordWith(later(3)), later(5), recordWith(later(1)))).toMatchObject({
      checkAt: later(1),
    })
  })

  it('takes the flag away if it is set anew for a patient time.', () => {
    const seen = recordWith(patiently(later(900_000)), true)
    const after = applied(storedOf(seen), checkAtUpdate(seen, patiently(later(60_000)), nowMs))
    expect(after).toMatchObject({ checkAt: patiently(later(60_000)) })
    expect(after).not.toHaveProperty('wk')
  })

  it('may be left as it is by a write of its own.', () => {
    const seen = recordWith(later(3), true)
    const after = applied(storedOf(seen), checkAtUpdate(seen, patiently(later(60_000)), nowMs))
    expect(after).toEqual(storedOf(seen))
  })
})
