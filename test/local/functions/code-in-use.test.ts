import { statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { keepCode } from '../../../local/functions/start-functions.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aFunction, writeCode } from '../a-function.ts'
import { until } from '../a-stack.ts'

test('The code of a stack that runs for days looks used, even if another part of it is gone.', async () => {
  const code = writeCode(join(temporaryFolder(), 'an-assembly'), 'asset.Work', '')
  const yesterday = new Date(Date.now() - 86_400_000)
  for (const folder of [code, dirname(code)]) utimesSync(folder, yesterday, yesterday)
  const end = keepCode(() => [aFunction('/nowhere/at/all'), aFunction(code)], 10)
  const isFresh = (folder: string) => statSync(folder).mtimeMs > yesterday.getTime() + 1_000
  await until(() => isFresh(code) && isFresh(dirname(code)))
  end()
  expect(isFresh(dirname(code))).toBe(true)
})
