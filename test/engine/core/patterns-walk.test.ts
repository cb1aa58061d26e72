import { expect, it } from 'vitest'
import {
  decodePatternsWalk,
  type PatternsWalk,
  WALK_AFTER_MS,
  walkEnded,
  walkNow,
  walkUpdate,
} from '../../../engine/upkeep/apply-patterns.ts'

const none = decodePatternsWalk(undefined)
const now = 1_000_000
const settled = now + WALK_AFTER_MS
const waiting: PatternsWalk = { asked: 1, noted: 1, settledMs: settled, beginMs: settled, walks: 0 }
const underWay = { startedMs: settled, place: { shard: 3, after: 'x' }, failed: false }
const { beginMs: _, ...begun } = { ...waiting, underWay }

it('If nobody has asked for a walk, there is nothing to do.', () => {
  expect(walkNow(none, now)).toBeUndefined()
})

it('A walk that was asked for waits until no process uses older patterns.', () => {
  expect(walkNow({ ...none, asked: 1 }, now)).toEqual(waiting)
  expect(walkNow(waiting, settled - 1)).toBeUndefined()
  expect(walkNow(waiting, settled)).toMatchObject({ underWay: { startedMs: settled } })
})

it('A walk that waits is not put off, however often somebody asks.', () => {
  const again = walkNow({ ...waiting, asked: 2 }, settled - 1)
  expect(again).toMatchObject({ beginMs: settled, settledMs: settled - 1 + WALK_AFTER_MS })
  const daily = { ...waiting, asked: 2, beginMs: settled + 80_000_000, walks: 5 }
  expect(walkNow(daily, settled)).toMatchObject({ beginMs: settled + WALK_AFTER_MS, walks: 0 })
})

it('A walk that is under way keeps its place when somebody asks for another, which follows it.', () => {
  const asked = walkNow({ ...begun, asked: 2 }, settled + 1_000) as PatternsWalk
  expect(asked.underWay).toEqual(underWay)
  const after = walkEnded(asked, settled + 2_000, { isLast: false })
  expect(after).toEqual({
    ...{ asked: 2, noted: 2, walks: 0 },
    ...{ settledMs: settled + 1_000 + WALK_AFTER_MS, beginMs: settled + 1_000 + WALK_AFTER_MS },
  })
})

it('The last walk is one that passed nothing.', () => {
  const late = { ...begun, walks: 4 }
  const failed = { ...late, underWay: { ...underWay, failed: true } }
  expect(walkEnded(late, settled, { isLast: true })).not.toHaveProperty('beginMs')
  expect(walkEnded(late, settled, { isLast: false })).toMatchObject({
    beginMs: settled + 86_400_000,
  })
  expect(walkEnded(failed, settled, { isLast: true })).toMatchObject({
    beginMs: settled + 86_400_000,
  })
})

it('A walk is read as it was written.', () => {
  for (const after of [waiting, begun, { ...begun, underWay: { ...underWay, failed: true } }]) {
    const { UpdateExpression, ExpressionAttributeValues } = walkUpdate(none, after)
    const sets = (UpdateExpression.split(' REMOVE ')[0] as string).replace('SET ', '').split(',')
    const row = Object.fromEntries(
      sets.map((set) => {
        const [name, value] = set.split('=') as [string, string]
        return [name, ExpressionAttributeValues[value]]
      }),
    )
    expect(decodePatternsWalk({ ...row, a: after.asked })).toEqual(after)
  }
})
