import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Checkpoint } from '../../../local/streams/stream-reader.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../a-stack.ts'

const at = (sequenceNumber: string) => ({ shardId: 'a shard', sequenceNumber })

test('A position that cannot be written is said once, and the next one is written again.', async () => {
  const folder = join(temporaryFolder(), 'streams')
  const file = join(folder, 'Mapping.json')
  const saved: string[] = []
  const problems: string[] = []
  const checkpoint = new Checkpoint(file, {
    onSaved: ({ sequenceNumber }) => saved.push(sequenceNumber),
    onProblem: (sentence) => problems.push(sentence),
  })
  checkpoint.advance(at('1'))
  checkpoint.save()
  rmSync(folder, { recursive: true })
  checkpoint.advance(at('2'))
  await until(() => problems.length === 1)
  checkpoint.advance(at('3'))
  checkpoint.save()
  expect(problems).toEqual([
    expect.stringMatching(
      /^Cannot write .*Mapping\.json: ENOENT.*; after a restart the records since then come again\.$/,
    ),
  ])
  mkdirSync(folder)
  checkpoint.advance(at('4'))
  await until(() => saved.length === 2)
  expect(saved).toEqual(['1', '4'])
  expect(new Checkpoint(file, { onSaved() {}, onProblem() {} }).position).toEqual(at('4'))
})
