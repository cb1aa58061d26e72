// A user who starts PushPop in the folder of a CDK app most likely means that app.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pushPop } from '../synthesis/synthesise-app.ts'
import { isObject } from '../template/assembly.ts'
import type { Typed } from './start-options.ts'

/** Says what to type if the folder has a cdk.json, and its app is not PushPop's own. */
export function appHere(folder: string, typed: Typed): string | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, 'cdk.json'), 'utf8')
  } catch {
    return undefined
  }
  const file = fileIn(text)
  if (file !== undefined && resolve(folder, file) === resolve(pushPop)) return undefined
  return `PushPop runs alone, without the app in cdk.json; ${typed} --app ${file ?? 'FILE'} runs that one.`
}

/** The last file of JavaScript or TypeScript that `app` names: `npx tsx bin/app.ts`. */
function fileIn(text: string): string | undefined {
  let settings: unknown
  try {
    settings = JSON.parse(text)
  } catch {
    return undefined
  }
  const command = isObject(settings) ? settings.app : undefined
  if (typeof command !== 'string') return undefined
  return command.split(/[\s'"]+/).findLast((word) => /\.[cm]?[jt]s$/.test(word))
}
