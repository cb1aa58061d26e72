import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeTemporaryFolder } from '../../../local/stores/folder.ts'

let memory: string
const made: string[] = []
beforeAll(() => {
  memory = mkdtempSync(join(tmpdir(), 'pushpop-test-'))
})
afterAll(() => {
  for (const folder of [memory, ...made]) rmSync(folder, { recursive: true, force: true })
})

async function placeOf(options: Parameters<typeof makeTemporaryFolder>[0]): Promise<string> {
  const folder = await makeTemporaryFolder({ memoryBytesMin: 1, ...options })
  made.push(folder)
  expect(statSync(folder).isDirectory()).toBe(true)
  return dirname(folder)
}

describe('the folder of stores that are gone after the stop', () => {
  test('is in memory', async () => {
    expect(await placeOf({ environment: {}, memory })).toBe(memory)
  })

  test.each([
    ['there is no such file system', '/there/is/none'],
    ['it has no room', '/proc'],
  ])('is where temporary files go, where %s', async (_, instead) => {
    expect(await placeOf({ environment: {}, memory: instead })).toBe(tmpdir())
  })

  test('is where TMPDIR says', async () => {
    const TMPDIR = mkdtempSync(join(tmpdir(), 'pushpop-test-'))
    made.push(TMPDIR)
    expect(await placeOf({ environment: { TMPDIR }, memory })).toBe(TMPDIR)
  })
})
