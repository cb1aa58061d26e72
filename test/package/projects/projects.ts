// Empty projects of the kinds that people have, each with the package installed as npm packs it. The files of
// each are in `files/`, in the words that it would be written in there.

import { dynoxideToInstall } from '../../../local/stores/dynoxide-binary.ts'

export type Project = {
  readonly name: string
  /** As docs/package.md has it. */
  readonly shows: string
  /** Makes the project; its files are then laid over it. */
  readonly init?: readonly string[]
  /** Besides the package itself. */
  readonly install: readonly string[]
  /** `pushpop` unless set. */
  readonly of?: 'pushpop' | 'client'
  /** In the project, one after the other; each must end with 0. */
  readonly commands: readonly (readonly string[])[]
  /** Its CDK app, which `pushpop start` then runs: with a consumer of the queue `orders`. */
  readonly starts?: string
}

const cdkInit = (language: string) => [
  'cdk',
  'init',
  'app',
  '--language',
  language,
  '--generate-only',
]

/** What `pushpop start` tells people to install. */
const binary = dynoxideToInstall(process)
const forStart = ['@20minutes/s3rver@5.0.0', ...(binary === undefined ? [] : [binary])]

export const projects: readonly Project[] = [
  {
    name: 'cdk-typescript',
    shows:
      '`cdk init app --language typescript`, unchanged: nodenext, CommonJS, tsx, jest with swc',
    init: cdkInit('typescript'),
    install: ['esbuild', ...forStart],
    commands: [['cdk', 'synth', '--quiet'], ['jest']],
    starts: 'bin/app.ts',
  },
  {
    name: 'cdk-javascript',
    shows: '`cdk init app --language javascript`, unchanged: CommonJS, jest',
    init: cdkInit('javascript'),
    install: ['esbuild', ...forStart],
    commands: [['cdk', 'synth', '--quiet'], ['jest']],
    starts: 'bin/app.js',
  },
  {
    name: 'cdk-ts-node',
    shows: 'a CDK app of older days: TypeScript 5.6, `node10`, ts-node, ts-jest',
    install: [
      'typescript@5.6',
      'ts-node@10',
      'ts-jest@29',
      'jest@29',
      '@types/jest@29',
      '@types/node@20',
      'aws-cdk-lib@2.276.0',
      'constructs@10',
      'esbuild',
      ...forStart,
    ],
    commands: [['tsc', '--noEmit'], ['ts-node', 'bin/app.ts'], ['jest']],
    starts: 'bin/app.ts',
  },
  {
    name: 'cdk-oldest',
    shows: 'the oldest `aws-cdk-lib`, 2.180.0, with cdk-nag 2 and TypeScript 4.9',
    install: [
      'typescript@4.9',
      'ts-node@10',
      '@types/node@18',
      'aws-cdk-lib@2.180.0',
      'constructs@10.5.1',
      'cdk-nag@2.38.2',
    ],
    commands: [
      ['tsc', '--noEmit'],
      ['ts-node', 'bin/app.ts'],
    ],
  },
  {
    name: 'esm',
    shows: 'ES modules, `nodenext`, vitest',
    install: ['typescript@5.9', 'vitest', '@types/node@24', 'aws-cdk-lib@2.276.0', 'constructs@10'],
    commands: [['tsc'], ['node', 'dist/main.js'], ['vitest', 'run']],
  },
  {
    name: 'nest',
    shows: 'NestJS: decorators, CommonJS, `node10`',
    install: [
      'typescript@5.6',
      '@nestjs/common@11',
      '@nestjs/core@11',
      '@nestjs/platform-express@11',
      'reflect-metadata',
      'rxjs',
      '@types/node@20',
    ],
    commands: [['tsc'], ['node', 'dist/main.js']],
  },
  {
    name: 'next',
    shows: 'Next.js: the client in the browser’s bundle and in a route handler',
    of: 'client',
    install: [
      'next@16',
      'react@19',
      'react-dom@19',
      'typescript@5.9',
      '@types/react@19',
      '@types/node@24',
    ],
    commands: [
      ['next', 'build'],
      ['node', 'check.mjs'],
    ],
  },
  {
    name: 'bun',
    shows: 'Bun: the client',
    of: 'client',
    install: ['bun'],
    commands: [['bun', 'run', 'main.ts']],
  },
  {
    name: 'deno',
    shows: 'Deno: the client',
    of: 'client',
    install: ['deno'],
    commands: [
      [
        'deno',
        'run',
        '--check',
        '--allow-net',
        '--allow-env',
        '--node-modules-dir=manual',
        'main.ts',
      ],
    ],
  },
]
