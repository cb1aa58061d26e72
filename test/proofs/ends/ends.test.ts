import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { runEnds } from './run-ends.ts'

test('A stack that is ended at any moment, asked or killed, handles what waited when it starts again.', async () => {
  const seed = Date.now() % 1_000_000
  const rounds = await runEnds({ rounds: 3, seed, folder: temporaryFolder() })
  expect(
    rounds.map(({ lost }) => lost),
    `seed ${seed}`,
  ).toEqual([[], [], []])
}, 240_000)
