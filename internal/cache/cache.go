// Package cache names the one folder in which certspec keeps what it installs or downloads:
// $CERTSPEC_CACHE, else the user's cache folder with "certspec" in it.
package cache

import (
	"fmt"
	"os"
	"path/filepath"
)

// Variable is the environment variable that moves the cache.
const Variable = "CERTSPEC_CACHE"

// Dir returns the folder elem... inside the cache as an absolute path, and creates it.
func Dir(elem ...string) (string, error) {
	root := os.Getenv(Variable)
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("cache: no cache folder: %w; set %s", err, Variable)
		}
		root = filepath.Join(user, "certspec")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("cache: %s=%q: %w", Variable, root, err)
	}
	dir := filepath.Join(append([]string{root}, elem...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache: %w; set %s to a folder that can be written", err, Variable)
	}
	return dir, nil
}
