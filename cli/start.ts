import { dynoxideToInstall, findDynoxide } from '../local/stores/dynoxide-binary.ts'
import { nodeTooOld } from '../shared/node-version.ts'
import type { ExitCode } from './exit-codes.ts'
import { failed } from './failure.ts'

/**
 * The packages that the stack on one machine needs beside this one and the binary of its DynamoDB. They are not
 * dependencies, because a program that only pushes and pops needs none of these 190 MB.
 */
const stores = process.env.PUSHPOP_S3_ENDPOINT ? [] : ['@20minutes/s3rver']
const cdk = ['aws-cdk-lib', 'constructs']

/** Its options are those of `npm start`. */
export async function start(args: readonly string[]): Promise<ExitCode> {
  if (!args.includes('--help') && !args.includes('-h')) checkWhatItNeeds(args)
  const { startCommand } = await import('../local/terminal/start-command.ts')
  return (await startCommand(args, 'pushpop start')) as ExitCode
}

function checkWhatItNeeds(args: readonly string[]): void {
  // The functions are bundled for Lambda's Node, which is also the one that s3rver needs.
  const tooOld = nodeTooOld('24.0', 'the stack on one machine')
  if (tooOld !== undefined) throw failed(tooOld)
  // Your own CDK app brings its CDK.
  const isOwnApp = args.some((arg) => arg === '--app' || arg.startsWith('--app='))
  const missing = [...stores, ...(isOwnApp ? [] : cdk)].filter((name) => !isInstalled(name))
  const dynoxide = missingDynoxide()
  const commands = [
    ...(missing.length > 0 ? [`npm install --save-dev ${missing.join(' ')}`] : []),
    ...(dynoxide === undefined ? [] : [`npm install --save-optional ${dynoxide}`]),
  ]
  if (commands.length > 0) {
    throw failed(
      'Cannot start because the stack on one machine needs packages that are not installed: ' +
        commands.join(', and '),
    )
  }
}

/**
 * The embedded DynamoDB has a package for each platform. It is optional for npm, so that the same
 * project can be installed on another platform.
 */
function missingDynoxide(): string | undefined {
  if (process.env.PUSHPOP_DYNAMODB_ENDPOINT || findDynoxide(process)) return undefined
  return dynoxideToInstall(process)
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
