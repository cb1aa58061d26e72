// The reason of a dead letter is what a handler makes of an error, so it may be any text. Both
// consumers, the client's and the Lambda's, make of it what the service takes, and the same.

import { join } from 'node:path'
import { build } from 'esbuild'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { consume } from '../../../client/consume.ts'
import { REASON_CHARACTERS_MAX } from '../../../engine/core/limits.ts'
import { fakeQueue } from '../../client/fake-queue.ts'
import { Place } from './a-run.ts'

/** By the client, to a queue that refuses what the service refuses. */
async function byClient(reason: unknown): Promise<string | undefined> {
  const queue = fakeQueue('a')
  const stop = new AbortController()
  const onError = ({ error }: { readonly error: unknown }) => {
    throw error
  }
  await consume(
    queue,
    (_, { deadLetter }) => {
      deadLetter(reason as string)
      stop.abort()
    },
    { signal: stop.signal, onError },
  )
  return queue.dead[0]?.reason
}

async function byLambda(reason: unknown): Promise<string | undefined> {
  const place = await Place.holding(1)
  await place.run((items, { deadLetter }) => {
    for (const item of items) deadLetter(item, reason as string)
  })
  return (await place.dead())[0]?.[1]
}

const x = (count: number): string => 'x'.repeat(count)

describe.each([
  ['the client', byClient],
  ['the Lambda', byLambda],
] as const)('By %s a reason', (_, kept) => {
  it.each([
    ['is kept as it is.', 'no such order', 'no such order'],
    ['may be empty.', '', ''],
    ['may be as long as the service takes.', x(256), x(256)],
    ['is cut to that.', x(257), x(256)],
    ['keeps a character of two halves that fits.', `${x(254)}😀`, `${x(254)}😀`],
    ['is cut before a character of two halves that does not.', `${x(255)}😀`, x(255)],
    ['has no first half of a character alone.', 'a\ud83d b', 'a\ufffd b'],
    ['has no second half alone.', 'a\ude00 b', 'a\ufffd b'],
    ['has no halves in the wrong order.', '\ude00\ud83d', '\ufffd\ufffd'],
    ['has no half alone at its end.', 'a\ud83d', 'a\ufffd'],
    ['that is cut to a half alone keeps a sign of it.', `${x(255)}\ud83dyz`, `${x(255)}\ufffd`],
    ['may be an error.', new Error('no such order'), 'Error: no such order'],
    ['may be left out, in JavaScript.', undefined, ''],
  ])('%s', async (_, given, expected) => {
    expect(await kept(given)).toBe(expected)
  })
})

it('Both consumers make the same of any reason, and the service accepts it.', async () => {
  const unit = fc.oneof(
    fc.constantFrom('a', '\ud83d', '\ude00', '語', '😀', '\0', '\n'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  )
  const reasons = fc
    .tuple(fc.integer({ min: 0, max: 300 }), fc.array(unit, { maxLength: 20 }))
    .map(([length, units]) => `${x(length)}${units.join('')}`)
  await fc.assert(
    fc.asyncProperty(reasons, async (reason) => {
      const kept = await byClient(reason)
      expect(kept).toBe(await byLambda(reason))
      expect(kept?.length).toBeLessThanOrEqual(REASON_CHARACTERS_MAX)
      expect(kept?.isWellFormed()).toBe(true)
    }),
    { numRuns: 300 },
  )
})

it('The client has that rule from the folders it shares, and nothing else of ours.', async () => {
  const root = join(import.meta.dirname, '../../..')
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['client/index.ts'],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    metafile: true,
  })
  const others = Object.keys(metafile.inputs).filter((path) => !path.startsWith('client/'))
  const mayHold = /^shared\/(worker\/)?[a-z-]+\.ts$/
  expect(others.filter((path) => !mayHold.test(path))).toEqual([])
  expect(others).toContain('shared/wire.ts')
})

it('An app that only pushes loads no worker, where its bundler splits code.', async () => {
  const stdin = {
    contents:
      "import { createClient } from './client/index.ts'; createClient({ url: '' }).queue('q').push(1)",
    resolveDir: join(import.meta.dirname, '../../..'),
  }
  const { metafile } = await build({
    absWorkingDir: stdin.resolveDir,
    stdin,
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    outdir: 'dist',
    format: 'esm',
    metafile: true,
  })
  const { outputs } = metafile
  const [main] = Object.keys(outputs).filter((name) => name.endsWith('stdin.js'))
  const loaded = new Set([main as string])
  for (const name of loaded) {
    for (const { path, kind } of outputs[name]?.imports ?? []) {
      if (kind === 'import-statement') loaded.add(path)
    }
  }
  const inputs = [...loaded].flatMap((name) => Object.keys(outputs[name]?.inputs ?? {}))
  expect(inputs).toContain('client/pushing.ts')
  expect(inputs.filter((path) => /worker|consume/.test(path))).toEqual([])
})
