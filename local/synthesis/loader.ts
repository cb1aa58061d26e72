// How Node runs an app in TypeScript: by itself, unless the project's cdk.json says with what. What `cdk init` writes
// imports files without their extensions, which Node alone does not find.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

type Loader = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Named in cdk.json, and not there: npx would have downloaded it. */
  readonly missing?: Runner | undefined
}

type Runner = 'tsx' | 'ts-node'

const isTypeScript = (app: string): boolean => /\.[cm]?ts$/.test(app)

/** `command` is the `app` of cdk.json: `npx tsx bin/app.ts`. */
export function loaderOf(app: string, root: string, command: unknown): Loader {
  const alone = { args: [], env: {} }
  if (!isTypeScript(app) || typeof command !== 'string') return alone
  // Also `node_modules/.bin/tsx`, `npx tsx@4` and `node --import tsx`.
  const runner = /(?:^|[\s/])(tsx|ts-node)(?=[\s@]|$)/.exec(command)?.[1] as Runner | undefined
  if (runner === undefined) return alone
  const file = resolveFrom(root, runner === 'tsx' ? 'tsx' : 'ts-node/register')
  if (file === undefined) return { ...alone, missing: runner }
  return runner === 'tsx'
    ? { args: ['--import', pathToFileURL(file).href], env: {} }
    : {
        args: ['--require', file],
        // Like Node and tsx, it only takes the types away: a build checks them.
        env: { TS_NODE_TRANSPILE_ONLY: 'true', TS_NODE_PREFER_TS_EXTS: 'true' },
      }
}

function resolveFrom(root: string, name: string): string | undefined {
  try {
    return createRequire(join(root, 'package.json')).resolve(name)
  } catch {
    return undefined
  }
}

const OF_THE_LOADER =
  /ERR_MODULE_NOT_FOUND|ERR_UNSUPPORTED_DIR_IMPORT|ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX|ERR_UNKNOWN_FILE_EXTENSION|Cannot find module '\.|in ES module scope|outside a module/

/** Advice if Node could not run an app that a loader could run; empty if the problem is another one. */
export function loaderAdvice(app: string, { args, missing }: Loader, output: string): string {
  if (!isTypeScript(app) || args.length > 0 || !OF_THE_LOADER.test(output)) return ''
  if (missing !== undefined) {
    return `; cdk.json runs it with ${missing}, which is not installed: npm install --save-dev ${missing}`
  }
  return (
    "; Node runs TypeScript by itself if each import names a whole file ('../lib/a.ts'); else install tsx " +
    '(npm install --save-dev tsx), and name it in cdk.json: "app": "npx tsx bin/app.ts"'
  )
}
