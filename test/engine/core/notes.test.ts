import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeNote,
  encodeNote,
  mayHaveLeft,
  movedSoFar,
  noteBytes,
  type Offset,
  type Place,
  withoutNotes,
} from '../../../engine/core/repeated-pushes.ts'
import { noteName } from '../../../engine/core/stored-record.ts'
import { aRecord, nowMs } from './a-record.ts'

const hashes = fc.stringMatching(/^[\w-]{22}$/)
const numbers = fc.integer({ min: 0, max: 36 ** 6 })
const places: fc.Arbitrary<Offset | Place> = fc.oneof(
  fc.record({ anchor: fc.stringMatching(/^[\w~]{4}([\w~]{4})?$/), offset: numbers }),
  fc.record({ epoch: fc.stringMatching(/^[\w~]{8}$/), start: numbers }),
)

describe('A note', () => {
  it('is read back as it was written, and counts as long as its push has no number yet as after that.', () => {
    const notes = fc.record({
      bodyHash: hashes,
      pushedAtMs: fc.integer({ min: 0, max: 36 ** 8 - 1 }),
      tag: fc.stringMatching(/^[\w~]{4}$/),
      ttlSeconds: fc.integer({ min: 1, max: 30 * 86_400 }),
      places: fc.array(fc.tuple(numbers, places), { minLength: 1, maxLength: 5 }),
    })
    fc.assert(
      fc.property(notes, (one) => {
        const note = { ...one, places: new Map(one.places) }
        const text = encodeNote(note)
        expect(decodeNote(text)).toEqual(note)
        const numbered = new Map(
          [...note.places.keys()].map((lane) => [lane, { epoch: 'epoch_00', start: 7 }] as const),
        )
        expect(noteBytes(encodeNote({ ...note, places: numbered }))).toBe(noteBytes(text))
      }),
    )
  })

  it('of one item counts about what it takes.', () => {
    const place = { epoch: 'epoch_00', start: 36 ** 4 }
    const one = { bodyHash: '-'.repeat(22), pushedAtMs: nowMs, tag: 'tag2', ttlSeconds: 86_400 }
    const text = encodeNote({ ...one, places: new Map([[0, place]]) })
    const bytes = noteName('-'.repeat(22)).length + text.length
    expect(Math.abs(noteBytes(text) - bytes)).toBeLessThan(10)
  })
})

describe('Notes that leave', () => {
  it('are told from those that have stayed as long as their marks are kept, and all are told after that.', () => {
    const note = encodeNote({
      bodyHash: '-'.repeat(22),
      pushedAtMs: 0,
      tag: 'tag2',
      ttlSeconds: 1,
      places: new Map(),
    })
    const leave = fc.array(hashes, { minLength: 1, maxLength: 25 })
    fc.assert(
      fc.property(fc.array(leave, { maxLength: 8 }), hashes, fc.nat(), (rounds, other, from) => {
        const records = [aRecord({})]
        const left: string[][] = []
        for (const keys of rounds) {
          const notes = new Map(keys.map((key) => [key, note]))
          const before = { ...(records.at(-1) ?? aRecord({})), notes }
          records.push(withoutNotes(before, [...notes.keys()]))
          left.push([...notes.keys()])
        }
        const at = from % records.length
        const [seen, now] = [records[at], records.at(-1)] as [
          (typeof records)[0],
          (typeof records)[0],
        ]
        const since = left.slice(at).flat()
        expect(movedSoFar(now.moved)).toBe(left.flat().length)
        for (const key of since) expect(mayHaveLeft([key], seen, now)).toBe(true)
        const areKept = now.moved.forgotten <= movedSoFar(seen.moved)
        const isLike = since.some((key) => key.slice(0, 3) === other.slice(0, 3))
        if (since.length === 0) expect(mayHaveLeft([other], seen, now)).toBe(false)
        else if (!areKept) expect(mayHaveLeft([other], seen, now)).toBe(true)
        else if (isLike) expect(mayHaveLeft([other], seen, now)).toBe(true)
      }),
    )
  })
})
