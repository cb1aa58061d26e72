import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { synthesiseApp } from '../../local/synthesis/synthesise-app.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Resource } from './synthesised.ts'

const app = join(import.meta.dirname, '../../examples/orders/app.ts')

it('The example can be deployed to a new account, which has no concurrency to reserve.', async () => {
  const assembly = await synthesiseApp({ app, cacheDirectory: temporaryFolder() })
  const { Resources } = JSON.parse(readFileSync(join(assembly, 'Orders.template.json'), 'utf8'))
  const functions = Object.values(Resources as Record<string, Resource>).filter(
    ({ Type }) => Type === 'AWS::Lambda::Function',
  )
  expect(functions.length).toBeGreaterThan(10)
  for (const { Properties } of functions) {
    expect(Properties.ReservedConcurrentExecutions).toBeUndefined()
  }
})
