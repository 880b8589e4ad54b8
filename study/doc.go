// Package study sets numbers of networks beside each other: ours, and those that are printed in a paper.
package study
