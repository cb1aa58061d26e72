import { describe, expect, test } from 'vitest'
import { helpOf, readArguments, takenByNpm } from '../../../local/terminal/start-options.ts'

const options = (...args: string[]) => {
  const read = readArguments(args)
  return read.kind === 'start' ? read.options : read
}

describe('the arguments of npm start', () => {
  test.each([
    ['none', [], { port: 8000, directory: '.pushpop', watch: false }],
    ['a port', ['--port', '8123'], { port: 8123, directory: '.pushpop', watch: false }],
    ['a port with =', ['--port=0'], { port: 0, directory: '.pushpop', watch: false }],
    ['a folder', ['--data', 'a=b'], { port: 8000, directory: 'a=b', watch: false }],
    ['no folder', ['--memory'], { port: 8000, watch: false }],
    ['an app', ['--app', 'x.ts', '--memory'], { port: 8000, app: 'x.ts', watch: false }],
    [
      'a file for others',
      ['--env', 'a.env', '--memory'],
      { port: 8000, watch: false, envFile: 'a.env' },
    ],
    ['watching', ['--watch', '--memory'], { port: 8000, watch: true }],
    [
      'the last of two',
      ['--port', '1', '--port', '2'],
      { port: 2, directory: '.pushpop', watch: false },
    ],
    ['help', ['--port', '1', '--help'], { kind: 'help' }],
    ['help in short', ['-h'], { kind: 'help' }],
  ])('%s', (_, args, result) => {
    expect(options(...args)).toEqual(result)
  })

  test.each([
    [['--prot', '1'], 'there is no option "--prot"; did you mean --port?'],
    [['--colour'], 'there is no option "--colour"'],
    [['8000'], 'there is no option "8000"'],
    [['bin/app.ts'], 'there is no option "bin/app.ts"; did you mean --app bin/app.ts?'],
    [['--port'], '--port needs a value'],
    [['--data='], '--data needs a value'],
    [['--memory=yes'], '--memory takes no value'],
    [['--port', '70000'], '--port must be a number from 0 to 65535, not "70000"'],
    [['--port', 'x'], '--port must be a number from 0 to 65535, not "x"'],
    [['--memory', '--data', 'x'], '--memory and --data contradict each other'],
  ])('%s are refused', (args, says) => {
    expect(readArguments(args)).toEqual({
      kind: 'wrong',
      sentence: `Cannot start because ${says}; npm start -- --help lists what there is`,
    })
  })

  test('help has a line for each option', () => {
    for (const name of ['--port N', '--data DIR', '--memory', '--watch', '--env FILE', '--help']) {
      expect(helpOf('npm start --')).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
  })

  test.each([
    ['a value', { npm_config_port: '8102' }, [], 'npm start -- --port 8102'],
    ['a value behind it', { npm_config_port: 'true' }, ['8102'], 'npm start -- --port 8102'],
    ['no value', { npm_config_port: 'true' }, [], 'npm start -- --port N'],
    ['none', { npm_config_watch: 'true' }, [], 'npm start -- --watch'],
  ])('that npm took for itself are refused, with %s', (_, taken, args, instead) => {
    const sentence = takenByNpm({ ...taken, npm_lifecycle_event: 'start' }, args)
    expect(sentence).toMatch(/^Cannot start because npm took --\w+ for itself; write npm start/)
    expect(sentence?.endsWith(instead)).toBe(true)
    expect(takenByNpm({ ...taken }, args)).toBeUndefined()
  })
})
